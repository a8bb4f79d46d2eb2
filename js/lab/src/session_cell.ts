// The cell that keeps a session of the side panel in the file, and shows it there.

import type { Fields } from "./host";

/** As the kernel would display it; `js/src/document.ts` replaces it by the static output whenever the file is written. */
export function sessionCell(id: string, source: string, session: string): Fields {
  const view = { version_major: 2, version_minor: 1, model_id: session };
  const data = { "application/vnd.jupyter.widget-view+json": view, "text/plain": "<session>" };
  return {
    cell_type: "code",
    id,
    source,
    metadata: { trusted: true }, // JupyterLab draws no widgets in cells that are not
    execution_count: null,
    outputs: [{ output_type: "display_data", data, metadata: {} }],
  };
}
