// What the server calls a path of the agent, and which notebook cell a tool call is about. Pure.

import type { Content, Json, Location, Prefixes, ToolItem } from "../types";
import { line } from "./display_text";

/** What the host can do with files; all paths are the server's. */
export interface FileHost {
  notebook(): string;
  address(path: string): string;
  open(path: string, line?: number): Promise<string | null>;
  show(cells: readonly string[], from: Element): boolean;
  /** Opens a small text file in a tab of the host, if that needs no click of the user. */
  follow?(path: string, line?: number): Promise<void>;
}

/** The path as it is shown: relative to the session's folder if it is inside it. */
export function relative(path: string, folder: string): string {
  const inside = folder !== "" && path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
  return line(inside ? path.slice(folder.length).replace(/^\/+/, "") : path);
}

/** The line of a place, from 1. A line of a notebook's file says nothing: its cells do. */
export function lineOf({ path, line: at }: Location): number | undefined {
  return at === undefined || at < 1 || /\.ipynb$/i.test(path) ? undefined : at;
}

/** The absolute path, without "." and ".."; a relative one starts at `folder`. */
export function absolute(path: string, folder: string): string {
  const whole = path.startsWith("/") ? path : `${folder}/${path}`;
  const parts: string[] = [];
  for (const part of whole.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** The server's path; null outside the server's root. */
export function served(path: string, prefixes: Prefixes): string | null {
  for (const [prefix, name] of prefixes) {
    const inside = prefix.endsWith("/") ? prefix : `${prefix}/`;
    if (path === prefix) return name;
    if (path.startsWith(inside))
      return [name, path.slice(inside.length)].filter((part) => part !== "").join("/");
  }
  return null;
}

// ---- cells

/** Names that agents' tools use for a cell. */
const CELL_KEYS = ["cell_id", "cellId", "cell"];

/** Candidates for the cell that a call is about, the most certain first. */
export function cellsOf({ raw_input: raw, content }: ToolItem, place?: Location): string[] {
  const at = place?.cell === undefined ? [] : [place.cell];
  const changed = content.flatMap((it) => (it.type === "diff" ? changedCells(it) : []));
  return [...named(raw), ...at, ...changed];
}

function named(raw: Json | undefined): string[] {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return [];
  const values = CELL_KEYS.map((key) => raw[key]);
  const number = raw["cell_number"];
  if (typeof number === "number") values.push(`cell-${number}`);
  return values.filter((value): value is string => typeof value === "string" && value !== "");
}

/** The line that starts each cell in a notebook's diff (core/ipynb/percent_format.py). */
const CELL = /^# %%(?: \[\w+\])? (\S+)$/;

/** The first cell that differs, in the new and in the old text. */
export function changedCells(diff: Extract<Content, { type: "diff" }>): string[] {
  if (!/\.ipynb$/i.test(diff.path)) return [];
  const [old, now] = [(diff.old_text ?? "").split("\n"), diff.new_text.split("\n")];
  let at = 0;
  while (at < old.length && at < now.length && old[at] === now[at]) at++;
  const names = [now, old].map((lines) => headAbove(lines, at));
  return names.filter((name) => name !== null);
}

function headAbove(lines: readonly string[], from: number): string | null {
  for (let at = Math.min(from, lines.length - 1); at >= 0; at--) {
    const name = CELL.exec(lines[at] ?? "")?.[1];
    if (name !== undefined) return name;
  }
  return null;
}
