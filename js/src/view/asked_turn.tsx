// A turn of another session that the agent asked for: live in the card of the call, folded once it is over.

import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AskedBy, AskedSession } from "../types";
import { HostContext } from "./host";
import { usePanel } from "./panel";
import { askedName, useOnce } from "./place";
import { line } from "./display_text";

interface Props {
  session: AskedSession;
  running: boolean;
}

export function AskedTurn({ session, running }: Props) {
  const { turn: show } = useContext(HostContext);
  const gone = usePanel().link === "gone";
  const [chosen, choose] = useState<boolean | null>(null);
  const box = useRef<HTMLDetailsElement>(null);
  useOnce(running && session.asks ? askedName(session) : null, () => box.current, box);
  const { agent, turn, turn_id: id, model } = session;
  const name = `${line(agent)}${turn === undefined ? "" : `, turn ${turn}`}`;
  if (!show || gone || model === undefined || id === undefined || turn === undefined)
    return <div class="acp-asked-name">{running ? `Asks ${name}` : `Answered by ${name}`}</div>;
  const open = chosen ?? running;
  return (
    <details
      ref={box}
      class="acp-asked"
      data-acp-asked={id}
      open={open}
      onToggle={({ currentTarget, target }) => {
        if (target === currentTarget && currentTarget.open !== open) choose(currentTarget.open);
      }}
    >
      <summary class="acp-asked-name">{name}</summary>
      {open && <Mounted {...{ model, id, show }} />}
    </details>
  );
}

interface MountedProps {
  model: string;
  id: string;
  show: (model: string, turn: string, el: HTMLElement, signal: AbortSignal) => Promise<void>;
}

function Mounted({ model, id, show }: MountedProps) {
  const [trouble, setTrouble] = useState<string | null>(null);
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const controller = new AbortController();
    if (place.current)
      show(model, id, place.current, controller.signal).catch((error: unknown) =>
        setTrouble(error instanceof Error ? error.message : String(error)),
      );
    return () => controller.abort();
  }, [model, id]);
  return (
    <>
      {trouble !== null && (
        <p class="acp-bad" role="alert">
          {line(trouble)}
        </p>
      )}
      <div class="acp-asked-turn" ref={place} />
    </>
  );
}

/** Above the prompt, in the session that was asked. */
export function AskedByLine({ by: { agent, turn } }: { by: AskedBy }) {
  return (
    <div class="acp-asked-name">
      Asked by {line(agent)}
      {turn !== undefined && `, in its turn ${turn}`}
    </div>
  );
}
