// The cells of a run's row.

import type { TableRow } from "../types";
import { line } from "./display_text";
import { Elapsed, duration } from "./elapsed";
import type { Column } from "./runs_columns";
import { money } from "./usage";

/** The same as in the static form (core/run_rows.py). */
const MARKS: Readonly<Record<TableRow["state"], string>> = {
  queued: "○",
  preparing: "◔",
  running: "◐",
  scoring: "◕",
  done: "✓",
  failed: "✕",
  lost: "✕",
  cancelled: "⊘",
  skipped: "⊘",
};

interface Props {
  column: Column;
  row: TableRow;
  /** When it began, in milliseconds; undefined: it does not run. */
  since: number | undefined;
}

export function Cell({ column, row, since }: Props) {
  switch (column) {
    case "prompt":
      return (
        <span title={line(row.prompt)}>
          {line(row.prompt)}
          {note(row) && <span class="acp-quiet"> — {line(note(row))}</span>}
        </span>
      );
    case "agent":
      return <span title={line(row.agent)}>{line(row.agent)}</span>;
    case "attempt":
      return <>{row.attempt}</>;
    case "state":
      return (
        <span title={line(row.error ?? "")}>
          <span class="acp-runs-mark" aria-hidden="true">
            {MARKS[row.state]}
          </span>{" "}
          {row.state}
        </span>
      );
    case "time":
      if (since !== undefined) return <Elapsed since={since} />;
      return <>{row.seconds === undefined ? "" : spent(row.seconds)}</>;
    case "cost":
      return (
        <>
          {row.cost === undefined ? "" : money({ amount: row.cost, currency: row.currency ?? "" })}
        </>
      );
    case "lines":
      return !row.added && !row.removed ? null : (
        <>
          <span class="acp-good">+{row.added ?? 0}</span>{" "}
          <span class="acp-bad">−{row.removed ?? 0}</span>
        </>
      );
    case "score":
      return (
        <span title={line(row.score_text ?? "")}>
          {row.score === undefined ? line(row.score_text ?? "") : short(row.score)}
        </span>
      );
    case "run":
      return null;
  }
}

/** What goes on, or why it did not end well. */
function note(row: TableRow): string {
  return row.error ?? row.doing ?? (row.applied ? "applied" : "");
}

/** Short times with a decimal: most runs of a test take a few seconds. */
function spent(seconds: number): string {
  return seconds < 10 ? `${seconds.toFixed(1)} s` : duration(seconds * 1000);
}

function short(score: number): string {
  return String(Number(score.toPrecision(4)));
}
