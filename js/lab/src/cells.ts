// Reads a cell of the open notebook for a prompt.

import type { Cell, Fields, NotebookPanel } from "./host";
import { variablesIn } from "./kernel";
import { plainText } from "./prompts";
import type { AboutCell } from "./prompts";

/** The cell as it is in the page, unsaved text included. */
export async function readCell(
  notebook: NotebookPanel,
  cell: Cell,
  { selected = true, failed = false } = {},
): Promise<AboutCell> {
  const { model } = cell;
  const source = model.sharedModel.getSource();
  const selection = selected ? selectionIn(cell, source) : "";
  const code = model.type === "code";
  return {
    notebook: notebook.context.path.split("/").at(-1) ?? "",
    id: model.id,
    number: model.executionCount ?? null,
    type: model.type,
    source,
    selection,
    error: failed ? errorOf(cell) : null,
    variables: code ? await variablesIn(notebook.context, selection || source) : [],
  };
}

function selectionIn({ editor }: Cell, source: string): string {
  if (!editor) return "";
  const { start, end } = editor.getSelection();
  const [from, to] = [editor.getOffsetAt(start), editor.getOffsetAt(end)];
  return source.slice(Math.min(from, to), Math.max(from, to));
}

export function hasSelection(cell: Cell | null | undefined): boolean {
  return cell != null && selectionIn(cell, cell.model.sharedModel.getSource()).trim() !== "";
}

/** The traceback in its output; null if it has none. */
export function errorOf({ model }: Cell): string | null {
  const { outputs } = model;
  for (let at = (outputs?.length ?? 0) - 1; outputs && at >= 0; at--) {
    if (outputs.get(at).type !== "error") continue;
    const output = outputs.get(at).toJSON() as Fields;
    const lines = Array.isArray(output["traceback"]) ? output["traceback"].map(String) : [];
    const message = `${String(output["ename"])}: ${String(output["evalue"])}`;
    return plainText(lines.length > 0 ? lines.join("\n") : message);
  }
  return null;
}
