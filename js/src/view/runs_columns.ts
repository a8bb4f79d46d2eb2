// The columns of a fan-out's table: their names, and how rows are sorted by them.

import type { TableRow } from "../types";

export type Column =
  "run" | "prompt" | "agent" | "attempt" | "state" | "time" | "cost" | "lines" | "score";

export interface Sorting {
  readonly by: Column;
  readonly down: boolean;
}

export const HEADS: Readonly<Record<Column, string>> = {
  run: "Run",
  prompt: "Prompt",
  agent: "Agent",
  attempt: "Attempt",
  state: "State",
  time: "Time",
  cost: "Cost",
  lines: "± Lines",
  score: "Score",
};

/** Numbers are first sorted from the largest down, for that is what one looks for; words from A. */
export const FALLS: ReadonlySet<Column> = new Set<Column>(["score", "lines"]);

const STATES: readonly TableRow["state"][] = [
  "running",
  "preparing",
  "scoring",
  "failed",
  "lost",
  "done",
  "cancelled",
  "skipped",
  "queued",
];

/** The columns that say something about these runs. */
export function columnsOf(rows: readonly TableRow[]): Column[] {
  const columns: Column[] = ["run", "prompt", "agent"];
  if (rows.some((row) => row.attempt > 1)) columns.push("attempt");
  columns.push("state", "time");
  if (rows.some((row) => row.cost !== undefined)) columns.push("cost");
  columns.push("lines");
  if (rows.some((row) => row.score !== undefined || row.score_text !== undefined))
    columns.push("score");
  return columns;
}

/** The numbers of the runs in the order of the table; what has no value is last either way. */
export function sorted(rows: readonly TableRow[], { by, down }: Sorting): number[] {
  const numbers = rows.map((_, run) => run);
  if (by === "run") return down ? numbers.reverse() : numbers;
  const values = rows.map((row) => valueOf(row, by));
  return numbers.sort((a, b) => {
    const [x, y] = [values[a], values[b]];
    if (x === undefined || y === undefined) {
      if (x === y) return a - b;
      return x === undefined ? 1 : -1;
    }
    const order = typeof x === "number" && typeof y === "number" ? x - y : compareTexts(x, y);
    return (down ? -order : order) || a - b;
  });
}

function compareTexts(x: string | number, y: string | number): number {
  return String(x).localeCompare(String(y), "en", { numeric: true });
}

function valueOf(row: TableRow, by: Column): string | number | undefined {
  switch (by) {
    case "prompt":
      return row.prompt;
    case "agent":
      return row.agent;
    case "attempt":
      return row.attempt;
    case "state":
      return STATES.indexOf(row.state);
    case "time":
      return row.seconds;
    case "cost":
      return row.cost;
    case "lines":
      return (row.added ?? 0) + (row.removed ?? 0) || undefined;
    case "score":
      return row.score;
    case "run":
      return undefined;
  }
}
