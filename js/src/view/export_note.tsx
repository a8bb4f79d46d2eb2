// What an export does, if it takes time, or why it failed.

import { Icon } from "./icons";
import type { Export } from "./use_export";

export function ExportNote({ of: { note, failed, dismiss } }: { of: Export }) {
  return note === null ? null : (
    <div class="acp-export" data-acp-export-note="" data-failed={failed}>
      <span role={failed ? "alert" : "status"}>{note}</span>
      <button type="button" class="acp-ghost" onClick={dismiss}>
        <Icon name="close" />
        <span class="acp-hidden">{failed ? "Dismiss" : "Cancel the export"}</span>
      </button>
    </div>
  );
}
