// Banners: no kernel, no connection, a refused request.

import { useRef } from "preact/hooks";
import type { Link } from "../store";
import { line } from "./display_text";
import { usePanel } from "./panel";
import { useOnce } from "./place";
import { OF_SESSION } from "./places";

const LINKS: Record<Link, string | null> = {
  waiting: null,
  live: null,
  offline: "The connection to the kernel was lost. The transcript so far stays here.",
  gone: "Disconnected: this session's kernel is gone. Run this cell to reconnect.",
};

export function Banner() {
  const text = LINKS[usePanel().link];
  return text ? (
    <div class="acp-banner" role="status">
      {text}
    </div>
  ) : null;
}

/** A refused request, told where the user can see it. */
export function Refused({ text, inPanel }: { text: string; inPanel: boolean }) {
  const { emit } = usePanel();
  const self = useRef<HTMLDivElement>(null);
  const { holds } = useOnce(
    "refused",
    () => self.current?.closest(".acp-panel, .acp") ?? null,
    self,
    inPanel ? OF_SESSION : undefined,
  );
  return (
    <div
      ref={self}
      class={holds ? "acp-banner" : undefined}
      data-severity="error"
      role={holds ? "alert" : undefined}
    >
      {holds && (
        <>
          Not done: {line(text)}
          <button type="button" aria-label="Dismiss" onClick={() => emit({ t: "dismiss" })}>
            ✕
          </button>
        </>
      )}
    </div>
  );
}
