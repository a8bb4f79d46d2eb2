// Below an open row: its changes can be brought to the user's folder. What was applied is listed like the changes of
// a turn, with Keep and Undo by file and hunk.

import { useState } from "preact/hooks";
import type { Emit, FileChange, OperationIntent, RunsSnapshot, TableRow } from "../types";
import { ChangesView } from "./changes";
import { line } from "./display_text";
import { NO_CHANGES } from "./own_changes";
import { ActivityContext, IDLE, PanelContext, WAITING } from "./panel";

interface Props {
  row: TableRow;
  /** What was applied; undefined: nothing yet. */
  changes: readonly FileChange[] | undefined;
  apply: (run: number, operation: OperationIntent | null) => void;
  link: RunsSnapshot["link"];
  /** What the kernel is doing; null: it applies the run. */
  pending: OperationIntent | null | undefined;
  /** Why the last click did nothing. */
  refused: string | undefined;
}

const ENDED: ReadonlySet<string> = new Set(["done", "failed", "cancelled"]);

export function ApplyBar({ row, changes, apply, link, pending, refused }: Props) {
  if (!row.files || !ENDED.has(row.state)) return null;
  return (
    <div class="acp-runs-apply">
      {changes && <AppliedChanges {...{ row, changes, apply, link, pending }} />}
      {!changes && (
        <button
          type="button"
          class="acp-primary"
          data-acp-apply=""
          disabled={pending !== undefined || link !== "live" || row.applied === true}
          onClick={() => apply(row.index, null)}
        >
          {row.applied ? "Applied to your folder" : "Apply to my folder"}
        </button>
      )}
      {refused !== undefined && (
        <span class="acp-bad" role="alert">
          {line(refused)}
        </span>
      )}
    </div>
  );
}

type AppliedProps = Omit<Props, "refused" | "changes"> & { changes: readonly FileChange[] };

function AppliedChanges({ row, changes, apply, link, pending }: AppliedProps) {
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const emit: Emit = (intent) => {
    if (intent.t === "fold") setFolds((before) => new Map(before).set(intent.key, intent.open));
    if (intent.t === "undo" || intent.t === "redo" || intent.t === "keep") apply(row.index, intent);
  };
  const operation = pending ? { intent: pending, slow: false } : undefined;
  const hidden = (row.files ?? 0) - changes.length;
  const notes =
    hidden > 0 ? [`${hidden} more files are not shown here: run.applied.changes lists them`] : [];
  const turn = String(row.index);
  return (
    <>
      <p>{row.applied ? "Applied to your folder:" : "Applied to your folder, and undone:"}</p>
      <PanelContext.Provider value={{ ...WAITING, emit, link }}>
        <ActivityContext.Provider value={{ ...IDLE, operation }}>
          <ChangesView
            item={{ type: "changes", key: turn, turn, files: changes, notes }}
            running={false}
            folds={folds}
            own={NO_CHANGES}
          />
        </ActivityContext.Provider>
      </PanelContext.Provider>
    </>
  );
}
