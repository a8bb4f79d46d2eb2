// Changed files in words and numbers, and the operations that they allow. Pure.

import type { ChangesItem, FileChange } from "../types";
import type { Turn } from "../turns";
import type { Operation } from "./operations";
import { line, spoken } from "./display_text";

/** The operations that the state of a file allows. */
export function operationsOf({ state, undoable, hunks }: FileChange): Operation[] {
  if (!undoable) return state === "kept" ? [] : ["keep"];
  switch (state) {
    case "undone":
      return ["redo"];
    case "kept":
      return ["undo"];
    case "partly":
      return ["keep", "undo", "redo"];
    case "conflict":
      if (hunks.length === 0) return ["keep", "undo", "redo"];
      return ["keep", hunks.every(({ undone }) => undone) ? "redo" : "undo"];
    default:
      return ["keep", "undo"];
  }
}

/** The operations that several files allow together. */
export function operationsOfAll(files: readonly FileChange[]): Operation[] {
  const all = new Set(files.flatMap(operationsOf));
  const only = (["keep", "undo", "redo"] as const).filter((operation) => all.has(operation));
  // Redo only when nothing is left to undo: otherwise both would always be there.
  return only.includes("undo") ? only.filter((operation) => operation !== "redo") : only;
}

export interface Sum {
  readonly files: number;
  readonly added: number;
  readonly removed: number;
}

/** The sum of several changes; a file that several turns changed counts once. */
export function sumOf(files: readonly FileChange[]): Sum {
  return {
    files: new Set(files.map(({ path }) => path)).size,
    added: files.reduce((sum, { added }) => sum + added, 0),
    removed: files.reduce((sum, { removed }) => sum + removed, 0),
  };
}

export function filesChanged(count: number): string {
  return `${count.toLocaleString("en")} file${count === 1 ? "" : "s"} changed`;
}

/** The most important first. */
const STATES: readonly [string, string][] = [
  ["conflict", "in conflict"],
  ["undone", "undone"],
  ["partly", "partly undone"],
  ["kept", "kept"],
];

/** "1 in conflict, 2 undone"; empty if everything is as the agent left it. */
export function summaryOf(files: readonly FileChange[]): string {
  const parts = STATES.flatMap(([state, words]) => {
    const count = files.filter((file) => file.state === state).length;
    if (count === 0) return [];
    return [count === files.length ? (count === 1 ? words : `all ${words}`) : `${count} ${words}`];
  });
  const fixed = files.filter(({ undoable }) => !undoable).length;
  if (fixed > 0) parts.push(fixed === files.length ? "not undoable" : `${fixed} not undoable`);
  return parts.join(", ");
}

export const STATE_WORDS: Record<string, string> = {
  undone: "undone",
  partly: "partly undone",
  kept: "kept",
  conflict: "conflict",
};

const BY: Record<string, string> = { user: "you", policy: "your rules", client: "the notebook" };

/** Who allowed a change, and whether the agent made it itself; empty if the agent may not have made it. */
export function whoOf({ via, allowed_by: by }: FileChange): string {
  if (via === "command" || via === "other" || via === "unknown") return "";
  const [, who = "", reason = ""] = /^(\w*)(.*)$/s.exec(by ?? "") ?? [];
  // What was allowed before says so itself: "you allowed it before, for this session".
  const allowed =
    who === "grant" && reason !== ""
      ? line(reason.replace(/^ \((.*)\)$/s, "$1"))
      : by
        ? `allowed by ${BY[who] ?? spoken(who)}${line(reason)}`
        : "nobody was asked";
  return via === "agent" ? `by the agent itself, ${allowed}` : allowed;
}

/** The changes of all turns, the oldest first. */
export function changesOf(turns: readonly Turn[]): ChangesItem[] {
  return turns.flatMap(({ items }) =>
    items.filter((item): item is ChangesItem => item.type === "changes"),
  );
}
