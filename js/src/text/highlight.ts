// Code -> pieces with a class each. Knows no page. Only finished code, and not too much of it.

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import json from "highlight.js/lib/languages/json";
import julia from "highlight.js/lib/languages/julia";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = {
  bash,
  cpp,
  diff,
  go,
  ini,
  json,
  julia,
  markdown,
  python,
  r,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};

/** Names beside those that the languages bring; JavaScript is TypeScript without types. */
const MORE: Record<string, string[]> = {
  bash: ["shell", "console", "sh-session", "shell-session"],
  cpp: ["c", "h"],
  json: ["jsonl", "ipynb"],
  python: ["ipython", "python3", "pycon"],
  sql: ["duckdb", "sqlite", "postgresql", "mysql"],
  typescript: ["javascript", "js", "jsx", "mjs", "cjs"],
};

/** Beyond, colours would cost a frame. */
export const MAX_CHARS = 20_000;
const PREFIX = "acp-hl-";

/** A text, or a span of a class of ours with such parts in it. */
export type Part = string | { readonly style: string; readonly parts: readonly Part[] };

let ready = false;

function prepare(): void {
  if (ready) return;
  ready = true;
  hljs.configure({ classPrefix: PREFIX });
  for (const [name, language] of Object.entries(LANGUAGES)) {
    hljs.registerLanguage(name, language);
    hljs.registerAliases(MORE[name] ?? [], { languageName: name });
  }
}

/** The code in parts; null where it has no colours. */
export function highlight(source: string, language: string): readonly Part[] | null {
  if (language === "" || source.length > MAX_CHARS) return null;
  prepare();
  if (!hljs.getLanguage(language)) return null;
  return parts(hljs.highlight(source, { language, ignoreIllegals: true }).value);
}

const SIGN = /<span class="([^"]*)">|<\/span>|&(?:amp|lt|gt|quot|#x27);/g;
const CHARACTERS: Record<string, string> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

/** Reads the few things that the highlighter writes; whatever else there were stays text. */
function parts(html: string): readonly Part[] {
  const root: Part[] = [];
  const open: Part[][] = [root];
  let text = "";
  let at = 0;
  const flush = () => {
    if (text !== "") open.at(-1)?.push(text);
    text = "";
  };
  for (const found of html.matchAll(SIGN)) {
    text += html.slice(at, found.index);
    at = found.index + found[0].length;
    if (found[1] !== undefined) {
      flush();
      const inner: Part[] = [];
      open.at(-1)?.push({ style: styleOf(found[1]), parts: inner });
      open.push(inner);
    } else if (found[0] === "</span>") {
      flush();
      if (open.length > 1) open.pop();
    } else text += CHARACTERS[found[0]] ?? "";
  }
  text += html.slice(at);
  flush();
  return root;
}

/** Only the first, which says what it is; "function_" and the like refine it. */
function styleOf(names: string): string {
  const [first = ""] = names.split(" ");
  return first.startsWith(PREFIX) ? first : "";
}
