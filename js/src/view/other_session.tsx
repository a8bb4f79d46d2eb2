// Another session of the same agent, in the place of this one's panel, and the way back.

import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Header } from "../types";
import { Host } from "./code";
import { line } from "./words";

interface Props {
  /** Of the other session's widget. */
  model: string;
  /** This session. */
  from: Header;
  back: () => void;
}

export function OtherSession({ model, from, back }: Props) {
  const { panel } = useContext(Host);
  const [trouble, setTrouble] = useState<string | null>(null);
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const controller = new AbortController();
    if (!panel || !place.current) setTrouble("This host cannot show it here.");
    else
      panel(model, place.current, controller.signal).catch((error: unknown) =>
        setTrouble(error instanceof Error ? error.message : String(error)),
      );
    return () => controller.abort();
  }, [model]);
  return (
    <div data-acp-elsewhere={model}>
      <div class="acp-elsewhere-bar">
        <button type="button" data-acp-back="" onClick={back}>
          Back to {line(from.title ?? "") || "the session before"}
        </button>
      </div>
      {trouble !== null && (
        <p class="acp-bad" role="alert">
          {line(trouble)} In Python it is among <code>session.agent.open_sessions</code>.
        </p>
      )}
      <div ref={place} />
    </div>
  );
}
