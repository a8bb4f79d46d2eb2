// Below an open row: its changes can be brought to the user's folder, and undone there.

import type { TableRow } from "../types";
import { line } from "./display_text";

interface Props {
  row: TableRow;
  apply: (run: number, undo: boolean) => void;
  busy: boolean;
  /** Why the last click did nothing. */
  refused: string | undefined;
}

const ENDED: ReadonlySet<string> = new Set(["done", "failed", "cancelled"]);

export function ApplyBar({ row, apply, busy, refused }: Props) {
  if (!row.files || !ENDED.has(row.state)) return null;
  const { index, applied } = row;
  return (
    <div class="acp-runs-apply">
      {applied && <span class="acp-good">Applied to your folder.</span>}
      <button
        type="button"
        class={applied ? "" : "acp-primary"}
        data-acp-apply={applied ? "undo" : "apply"}
        disabled={busy}
        onClick={() => apply(index, Boolean(applied))}
      >
        {applied ? "Undo" : "Apply to my folder"}
      </button>
      {refused !== undefined && (
        <span class="acp-bad" role="alert">
          {line(refused)}
        </span>
      )}
    </div>
  );
}
