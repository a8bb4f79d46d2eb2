// The table of a fan-out: a row for each run, a page of them at a time. A row opens its details below it.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { OperationIntent, RunsSnapshot, TableRow } from "../types";
import { line } from "./display_text";
import { Cell } from "./runs_cells";
import { FALLS, HEADS, columnsOf, sorted } from "./runs_columns";
import type { Column, Sorting } from "./runs_columns";
import { ApplyBar } from "./runs_apply";
import { RunDetails } from "./runs_details";
import { ProgressLine } from "./runs_progress";

/** Rows of one page: more would make the table slow, and nobody reads them. */
export const PAGE_ROWS = 50;
/** The kernel renders each open row again while its run goes on; the oldest one closes. */
const MOST_OPEN = 20;

interface Props {
  snapshot: RunsSnapshot;
  stop: () => void;
  /** Bring the changes of a run to the user's folder (null), or undo, redo or keep them there. */
  apply: (run: number, operation: OperationIntent | null) => void;
  setOpen: (runs: ReadonlySet<number>) => void;
}

const NUMERIC: ReadonlySet<Column> = new Set<Column>(["attempt", "time", "cost", "lines", "score"]);

export function RunsView({ snapshot, stop, apply, setOpen }: Props) {
  const { rows, progress, details, applying, refused, since, link } = snapshot;
  const [sorting, setSorting] = useState<Sorting>({ by: "run", down: false });
  const [page, setPage] = useState(0);
  const [open, setOpened] = useState<readonly number[]>([]);
  useLayoutEffect(() => setOpen(new Set(open)), [open]);
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const order = useMemo(() => sorted(rows, sorting), [rows, sorting]);
  const pages = Math.max(1, Math.ceil(order.length / PAGE_ROWS));
  const at = Math.min(page, pages - 1);
  const toggle = (run: number) =>
    setOpened((runs) =>
      runs.includes(run) ? runs.filter((it) => it !== run) : [...runs, run].slice(-MOST_OPEN),
    );
  return (
    <div class="acp" data-acp-root="runs" data-acp-link={link}>
      {progress && <ProgressLine progress={progress} link={link} stop={stop} />}
      {!progress && <p class="acp-quiet">Loading…</p>}
      {rows.length > 0 && (
        <table class="acp-runs-table" role="table" aria-label="Runs">
          <thead role="rowgroup">
            <tr role="row">
              {columns.map((column) => (
                <Head key={column} column={column} sorting={sorting} sort={setSorting} />
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {order.slice(at * PAGE_ROWS, (at + 1) * PAGE_ROWS).flatMap((run) => {
              const row = rows[run];
              if (!row) return [];
              const isOpen = open.includes(run);
              return [
                <Row key={run} {...{ run, row, columns, isOpen, toggle }} since={since.get(run)} />,
                ...(isOpen
                  ? [
                      <tr key={`${run} details`} role="row" class="acp-runs-details">
                        <td role="cell" colSpan={columns.length}>
                          <RunDetails run={run} html={details.get(run)?.html} />
                          <ApplyBar
                            {...{ row, apply, link }}
                            changes={details.get(run)?.changes}
                            pending={applying.get(run)}
                            refused={refused.get(run)}
                          />
                        </td>
                      </tr>,
                    ]
                  : []),
              ];
            })}
          </tbody>
        </table>
      )}
      {pages > 1 && <Pager page={at} pages={pages} total={order.length} setPage={setPage} />}
    </div>
  );
}

interface HeadProps {
  column: Column;
  sorting: Sorting;
  sort: (sorting: Sorting) => void;
}

function Head({ column, sorting, sort }: HeadProps) {
  const mine = sorting.by === column;
  const down = mine ? !sorting.down : FALLS.has(column);
  return (
    <th
      role="columnheader"
      scope="col"
      data-column={column}
      data-numeric={NUMERIC.has(column)}
      aria-sort={mine ? (sorting.down ? "descending" : "ascending") : "none"}
    >
      <button type="button" class="acp-ghost" onClick={() => sort({ by: column, down })}>
        {HEADS[column]}
        <span aria-hidden="true">{mine ? (sorting.down ? "↓" : "↑") : ""}</span>
      </button>
    </th>
  );
}

interface RowProps {
  run: number;
  row: TableRow;
  columns: readonly Column[];
  isOpen: boolean;
  since: number | undefined;
  toggle: (run: number) => void;
}

function Row({ run, row, columns, isOpen, since, toggle }: RowProps) {
  return (
    <tr
      role="row"
      class="acp-runs-row"
      data-acp-run={run}
      data-state={row.state}
      onClick={(event) => {
        // Text that is being selected is not a click.
        if (String(getSelection() ?? "") === "" || event.detail === 0) toggle(run);
      }}
    >
      {columns.map((column) => (
        <td key={column} role="cell" data-column={column} data-numeric={NUMERIC.has(column)}>
          {column === "run" ? (
            <button
              type="button"
              class="acp-ghost"
              aria-expanded={isOpen}
              aria-label={`Run ${run}: ${line(row.agent)}, ${row.state}`}
              onClick={(event) => {
                event.stopPropagation();
                toggle(run);
              }}
            >
              <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
              {run}
            </button>
          ) : (
            <Cell {...{ column, row, since }} />
          )}
        </td>
      ))}
    </tr>
  );
}

interface PagerProps {
  page: number;
  pages: number;
  total: number;
  setPage: (page: number) => void;
}

function Pager({ page, pages, total, setPage }: PagerProps) {
  const first = page * PAGE_ROWS;
  const last = Math.min(first + PAGE_ROWS, total);
  const button = (label: string, to: number) => (
    <button
      type="button"
      disabled={to < 0 || to >= pages || to === page}
      onClick={() => setPage(to)}
    >
      {label}
    </button>
  );
  return (
    <div class="acp-runs-pager" role="group" aria-label="Pages">
      {button("First", 0)}
      {button("Previous", page - 1)}
      <span>
        {(first + 1).toLocaleString("en")}–{last.toLocaleString("en")} of{" "}
        {total.toLocaleString("en")}
      </span>
      {button("Next", page + 1)}
      {button("Last", pages - 1)}
    </div>
  );
}
