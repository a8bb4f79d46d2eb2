// The cell that keeps a session of the side panel in the file, and shows it there.

import { NOTE, WIDGET_VIEW } from "../../src/document";
import type { Fields } from "./host";

/** What the transcript of a whole session is as long as it is empty. */
const EMPTY = '{"acp_transcript":2,"parts":[]}';

export interface SessionCell extends Fields {
  readonly outputs: { data: Fields; metadata: Fields; readonly output_type: "display_data" }[];
}

/** As the kernel would display it; `js/src/document.ts` replaces it by the static output whenever the file is written. */
export function sessionCell(id: string, source: string, session: string): SessionCell {
  const shows = { session, turn: null, transcript: EMPTY };
  const view = { version_major: 2, version_minor: 1, model_id: session, [NOTE]: shows };
  const data = { [WIDGET_VIEW]: view, "text/plain": "<session>" };
  return {
    cell_type: "code",
    id,
    source,
    metadata: { trusted: true }, // JupyterLab draws no widgets in cells that are not
    execution_count: null,
    outputs: [{ output_type: "display_data", data, metadata: {} }],
  };
}
