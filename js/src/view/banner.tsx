// What stands above everything: no kernel, no connection, something refused.

import type { Link } from "../store";
import type { Emit } from "../types";
import { line } from "./words";

const LINKS: Record<Link, string | null> = {
  waiting: null,
  live: null,
  offline: "The connection to the kernel is lost. What came before stays here.",
  gone: "Disconnected: the kernel of this session is gone. The transcript stays, its controls do not.",
};

export function Banner(props: { link: Link; refused: string | null; emit: Emit }) {
  const { link, refused, emit } = props;
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
