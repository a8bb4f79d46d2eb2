// Where a path of the agent's is for the server, and which cell of a notebook a tool call is about. Pure.

import { createContext } from "preact";
import type { Content, Json, Location, Prefixes, ToolItem } from "../types";

/** What the kernel told of the server; null: it is not known there. */
export const ServerPaths = createContext<Prefixes | null>(null);

/** What the host can do with files, by the server's paths. */
export interface FileHost {
  notebook(): string;
  address(path: string): string;
  open(path: string, line?: number): Promise<string | null>;
  show(cells: readonly string[], from: Element): boolean;
}

/** The path from the root on, without "." and ".."; `folder` is where a relative one begins. */
export function absolute(path: string, folder: string): string {
  const whole = path.startsWith("/") ? path : `${folder}/${path}`;
  const parts: string[] = [];
  for (const part of whole.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** What the server calls it; null: it is not below the server's root. */
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

/** Names that agents' tools have for a cell. */
const CELL_KEYS = ["cell_id", "cellId", "cell"];

/** What names the cell that a call is about, the surest first; `place`: in particular there. */
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

/** How a notebook's change is told: each cell begins with such a line (core/ipynb/percent_format.py). */
const CELL = /^# %%(?: \[\w+\])? (\S+)$/;

/** The first cell that differs, as it is now and as it was. */
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
