// The title of a tool call: the agent's words, with the path of the file relative to the session's folder. Pure.

import type { ToolItem } from "../types";
import { line } from "./display_text";
import { unmarked } from "./inline";
import { relative } from "./locations";

type Titled = Pick<ToolItem, "title" | "name" | "id" | "kind" | "content" | "locations">;

/** What is shown of a title, with its inline markdown. */
export interface Title {
  readonly text: string;
  /** The path that the title names, so that it is not repeated next to it. */
  readonly path: string | null;
  /** It is code as a whole, or words with inline markdown; null: as it is, since it may be a command. */
  readonly form: "code" | "words" | null;
}

/** Kinds that act on files: in their titles a name is the name of a file. */
const OF_FILES: ReadonlySet<string> = new Set(["read", "edit", "delete", "move"]);

export function titleOf(tool: Titled, folder: string): Title {
  const given = (tool.title || tool.name || tool.id).trim();
  const quoted = /^`[^`]+`$/.test(given);
  const text = line(quoted ? given.slice(1, -1) : given);
  const form = quoted ? "code" : tool.kind === "execute" ? null : "words";
  // A command stays as it is: a shorter path would be another command.
  if (tool.kind === "execute") return { text, path: null, form };
  const paths = pathsOf(tool);
  let shown = paths.reduce((it, path) => named(it, line(path), relative(path, folder)), text);
  const [only] = paths;
  if (paths.length !== 1 || only === undefined) return { text: shown, path: null, form };
  const name = relative(only, folder);
  if (OF_FILES.has(tool.kind) && !has(shown, name)) shown = named(shown, baseName(name), name);
  return { text: shown, path: has(shown, name) ? only : null, form };
}

/** The title for the names of controls and other places that show no markup. */
export function plainTitle({ text, form }: Title): string {
  return form === "words" ? unmarked(text) : text;
}

/** The files that the call is about, the longest path first. */
function pathsOf({ content, locations }: Titled): string[] {
  const diffs = content.flatMap((it) => (it.type === "diff" ? [it.path] : []));
  const all = new Set([...locations.map(({ path }) => path), ...diffs]);
  return [...all].filter((path) => path !== "").sort((a, b) => b.length - a.length);
}

function baseName(path: string): string {
  return path.split("/").at(-1) || path;
}

/** A name as a whole: not a part of a longer path. */
function whole(name: string): RegExp {
  const literal = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(String.raw`(?<![\w./~-])${literal}(?![\w-]|[./][\w-])`);
}

function has(text: string, name: string): boolean {
  return text.includes(name) && whole(name).test(text);
}

function named(text: string, name: string, as: string): string {
  return name === as || !text.includes(name) ? text : text.replace(whole(name), () => as);
}
