// Banners: no kernel, no connection, a refused request.

import type { Link } from "../store";
import { usePanel } from "./panel";
import { line } from "./display_text";

const LINKS: Record<Link, string | null> = {
  waiting: null,
  live: null,
  offline: "The connection to the kernel was lost. The transcript so far stays here.",
  gone: "Disconnected: this session's kernel is gone. Run this cell to reconnect.",
};

export function Banner({ refused }: { refused: string | null }) {
  const { link, emit } = usePanel();
  const text = LINKS[link];
  return (
    <>
      {text && (
        <div class="acp-banner" role="status">
          {text}
        </div>
      )}
      {refused !== null && (
        <div class="acp-banner" data-severity="error" role="alert">
          Not done: {line(refused)}
          <button type="button" aria-label="Dismiss" onClick={() => emit({ t: "dismiss" })}>
            ✕
          </button>
        </div>
      )}
    </>
  );
}
