// The whole session: a header, the turns in a scroll area of their own, and the field to write in.

import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Link, Snapshot } from "../store";
import { isRunning, turnId } from "../turns";
import type { Turn } from "../turns";
import type { Draft, Emit } from "../types";
import { Composer } from "./composer";
import { useFollow } from "./follow";
import { HeaderView } from "./header";
import { OtherSession } from "./other_session";
import { Icon } from "./icons";
import { Picker } from "./picker";
import { SessionChanges } from "./session_changes";
import { TurnView } from "./turn";

/** Turns shown at once, the newest; and as many more each time. */
export const NEWEST_TURNS = 20;

interface Props {
  snapshot: Snapshot;
  draft: Draft;
  /** What stands above the field: trouble. */
  told: ComponentChildren;
  emit: Emit;
}

export function SessionView({ snapshot, draft, told, emit }: Props) {
  const { state, turns, link, sent, folds, since, terminals, queue, offered, returned } = snapshot;
  const running = turns.find(({ start }) => start && isRunning(start))?.start ?? null;
  const [count, setCount] = useState(NEWEST_TURNS);
  const inner = useRef<HTMLDivElement>(null);
  const { away, toEnd } = useFollow(inner, running !== null, { own: true });
  const hidden = Math.max(0, turns.length - count);
  const prompts = useMemo(() => promptsOf(turns), [turns]);
  const [picking, setPicking] = useState(false);
  const [other, setOther] = useState<string | null>(null);
  const panel = useRef<HTMLDivElement>(null);
  const closePicker = () => {
    setPicking(false);
    panel.current?.querySelector<HTMLElement>("[data-acp-sessions]")?.focus();
  };
  const conversation = (
    <div class="acp-panel" ref={panel} hidden={other !== null}>
      <HeaderView
        header={state.session}
        link={link}
        sent={sent}
        emit={emit}
        picking={picking}
        pick={() => setPicking(!picking)}
      />
      {picking && (
        <Picker
          offers={state.session.agent?.offers ?? []}
          picked={snapshot.picked}
          live={link === "live"}
          emit={emit}
          show={(model) => {
            setPicking(false);
            setOther(model);
          }}
          close={closePicker}
        />
      )}
      <div
        class="acp-scroll"
        data-acp-scroll=""
        tabIndex={0}
        role="group"
        aria-label="Conversation"
      >
        <div ref={inner}>
          {hidden > 0 && (
            <button
              type="button"
              class="acp-more"
              data-acp-earlier={hidden}
              onClick={() => setCount(count + NEWEST_TURNS)}
            >
              Show {Math.min(hidden, NEWEST_TURNS)} earlier turns
            </button>
          )}
          {turns.slice(hidden).map((turn) => (
            <TurnView
              key={turn.start?.key ?? ""}
              turn={turn}
              since={turn.start === running ? since : null}
              cited={terminals.cited}
              stop={false}
              {...{ link, sent, folds, emit }}
            />
          ))}
          {turns.length === 0 && <p class="acp-quiet acp-empty">{emptyText(link)}</p>}
        </div>
      </div>
      <div class="acp-foot">
        {away && (
          <button type="button" class="acp-newest" data-acp-newest="" onClick={toEnd}>
            <Icon name="down" /> Newest
          </button>
        )}
        {told}
        <SessionChanges turns={turns} />
        <Composer
          draft={draft}
          prompts={prompts}
          commands={state.session.commands ?? []}
          queue={queue}
          running={running ? turnId(running) : null}
          stopping={running?.cancelling === true}
          sent={sent}
          offered={offered}
          returned={returned}
          off={offText(link, state.session.status)}
          emit={(intent) => {
            emit(intent);
            if (intent.t === "prompt") toEnd();
          }}
        />
      </div>
    </div>
  );
  return (
    <>
      {other !== null && (
        <OtherSession model={other} from={state.session} back={() => setOther(null)} />
      )}
      {conversation}
    </>
  );
}

function promptsOf(turns: readonly Turn[]): string[] {
  const texts = turns.map(({ start }) =>
    (start?.prompt ?? []).map((block) => (block.type === "text" ? block.text : "")).join(""),
  );
  return texts.filter((text, at) => text.trim() !== "" && text !== texts[at - 1]);
}

function offText(link: Link, status: string | undefined): string | null {
  if (link === "waiting") return "Waiting for the kernel…";
  if (link !== "live") return "Disconnected";
  return status === "closed" ? "The session is closed" : null;
}

export function emptyText(link: Link): string {
  return link === "waiting" ? "Waiting for the kernel…" : "Nothing yet.";
}
