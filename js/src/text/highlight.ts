// Splits code into parts with a highlighting class each. Knows no page. Only for complete code of limited length.

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import ini from "highlight.js/lib/languages/ini";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { cpp, go, julia, rust, typescript } from "./c_like";
import { sql } from "./sql";

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

/** Names in addition to those that the languages define. */
const MORE: Record<string, string[]> = {
  bash: ["shell", "console", "sh-session", "shell-session"],
  json: ["jsonl", "ipynb"],
  python: ["ipython", "python3", "pycon"],
  sql: ["duckdb", "sqlite", "postgresql", "mysql"],
};

/** Highlighting longer code would take more than a frame. */
export const MAX_CHARS = 20_000;
const PREFIX = "acp-hl-";

/** A text, or a span with one of our classes and further parts. */
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

/** The parts of the code; null if it is not highlighted. */
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

/** Parses the little HTML that the highlighter writes; anything else stays text. */
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

/** Only the first class, which names the kind; "function_" and the like refine it. */
function styleOf(names: string): string {
  const [first = ""] = names.split(" ");
  return first.startsWith(PREFIX) ? first : "";
}
