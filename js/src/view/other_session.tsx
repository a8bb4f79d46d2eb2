// Another session of the same agent in place of this panel, with a button that leads back.

import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Header } from "../types";
import { HostContext } from "./host";
import { line } from "./display_text";

interface Props {
  /** Of the other session's widget. */
  model: string;
  /** This session. */
  from: Header;
  back: () => void;
}

export function OtherSession({ model, from, back }: Props) {
  const { panel } = useContext(HostContext);
  const [trouble, setTrouble] = useState<string | null>(null);
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const controller = new AbortController();
    if (!panel || !place.current) setTrouble("This application cannot show another session here.");
    else
      panel(model, place.current, controller.signal).catch((error: unknown) =>
        setTrouble(error instanceof Error ? error.message : String(error)),
      );
    return () => controller.abort();
  }, [model]);
  return (
    <div data-acp-other-session={model}>
      <div class="acp-other-session-bar">
        <button type="button" data-acp-back="" onClick={back}>
          Back to {line(from.title ?? "") || "the previous session"}
        </button>
      </div>
      {trouble !== null && (
        <p class="acp-bad" role="alert">
          {line(trouble)} In Python, it is in <code>session.agent.open_sessions</code>.
        </p>
      )}
      <div ref={place} />
    </div>
  );
}
