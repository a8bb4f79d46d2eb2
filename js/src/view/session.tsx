// The whole session: a header, the turns in their own scroll area, and the composer. The frame is as high as the
// page has room for it; only the turns scroll.

import type { ComponentChildren, Ref } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Link, Snapshot } from "../store";
import { isRunning, turnId } from "../turns";
import type { Turn } from "../turns";
import type { Draft, Header } from "../types";
import { bringPanel } from "./bring";
import { Composer } from "./composer";
import { useFollow } from "./follow";
import { HeaderView } from "./header";
import type { MenuEntry } from "./header_menu";
import { Icon } from "./icons";
import { KeysLine, useKeys } from "./keys";
import { OtherSession } from "./other_session";
import { Picker } from "./picker";
import { useRoom } from "./room";
import { SessionChanges } from "./session_changes";
import { TurnView } from "./turn";

/** Turns shown at first, the newest ones; and as many more each time. */
export const NEWEST_TURNS = 20;

interface Props {
  snapshot: Snapshot;
  draft: Draft;
  /** Shown above the composer. */
  banners: ComponentChildren;
}

export function SessionView({ snapshot, draft, banners }: Props) {
  const { state, turns, link, sent, queue, offered, returned } = snapshot;
  const running = runningOf(turns);
  const end = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const { away, toEnd } = useFollow(end, running !== null, { own: true });
  useRoom(panel);
  useShown(panel, turns.length === 0);
  const id = running ? turnId(running) : null;
  const stoppable = id !== null && running?.cancelling !== true && !sent.has(id);
  const { onKeyDown, onKeyUp, onInput, ...keys } = useKeys(stoppable ? id : null);
  const prompts = useMemo(() => promptsOf(turns), [turns]);
  const [used, setUsed] = useState(false);
  const send = () => {
    setUsed(true);
    toEnd();
  };
  const [picking, setPicking] = useState(false);
  const [other, setOther] = useState<string | null>(null);
  const closePicker = () => {
    setPicking(false);
    panel.current?.querySelector<HTMLElement>("[data-acp-sessions]")?.focus();
  };
  const showOther = (model: string) => {
    setPicking(false);
    setOther(model);
  };
  return (
    <>
      {other !== null && (
        <OtherSession model={other} from={state.session} back={() => setOther(null)} />
      )}
      <div
        class="acp-panel"
        ref={panel}
        hidden={other !== null}
        data-used={used || turns.length > 0}
        {...{ onKeyDown, onKeyUp, onInput }}
        onFocusIn={({ target, currentTarget }) =>
          target instanceof HTMLTextAreaElement && bringPanel(currentTarget)
        }
      >
        <HeaderView
          header={state.session}
          sent={sent}
          entries={[
            ...(listsSessions(state.session)
              ? [sessionsEntry(picking, () => setPicking(!picking))]
              : []),
          ]}
        />
        {picking && (
          <Picker
            offers={state.session.agent?.offers ?? []}
            picked={snapshot.picked}
            show={showOther}
            close={closePicker}
          />
        )}
        <Conversation snapshot={snapshot} content={end} />
        <div class="acp-foot">
          {away && (
            <button type="button" class="acp-newest" data-acp-newest="" onClick={toEnd}>
              <Icon name="down" /> Newest
            </button>
          )}
          <div class="acp-notes">
            {banners}
            <SessionChanges turns={turns} />
          </div>
          <Composer
            {...{ draft, prompts, queue, sent, offered, returned }}
            commands={state.session.commands ?? []}
            running={id}
            stopping={running?.cancelling === true}
            off={offText(link, state.session.status)}
            onSend={send}
          />
          <KeysLine keys={keys} running={stoppable} asking={isAsking(turns)} />
        </div>
      </div>
    </>
  );
}

/** The panel of a new session comes into sight. */
function useShown(panel: { readonly current: HTMLElement | null }, isNew: boolean): void {
  useEffect(() => {
    if (!isNew) return;
    const frame = requestAnimationFrame(() => panel.current && bringPanel(panel.current));
    return () => cancelAnimationFrame(frame);
  }, []);
}

function isAsking(turns: readonly Turn[]): boolean {
  return turns.some(({ items }) =>
    items.some((item) => item.type === "question" && item.status === "open"),
  );
}

/** Agents that offer one of these get the list of sessions. */
const LISTED = ["list", "fork", "logout"];

function listsSessions({ agent }: Header): boolean {
  return agent?.offers?.some((offer) => LISTED.includes(offer)) ?? false;
}

function sessionsEntry(expanded: boolean, run: () => void): MenuEntry {
  return { id: "sessions", label: "Sessions", icon: "sessions", inRow: true, expanded, run };
}

/** The newest turns; earlier ones on demand. */
function Conversation({ snapshot, content }: { snapshot: Snapshot; content: Ref<HTMLDivElement> }) {
  const { turns, link, sent, folds, since, terminals } = snapshot;
  const [count, setCount] = useState(NEWEST_TURNS);
  const hidden = Math.max(0, turns.length - count);
  const running = runningOf(turns);
  return (
    <div class="acp-scroll" data-acp-scroll="" tabIndex={0} role="group" aria-label="Conversation">
      <div ref={content}>
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
            {...{ sent, folds }}
          />
        ))}
        {turns.length === 0 && <p class="acp-quiet acp-empty">{emptyText(link)}</p>}
      </div>
    </div>
  );
}

function runningOf(turns: readonly Turn[]): Turn["start"] {
  return turns.find(({ start }) => start && isRunning(start))?.start ?? null;
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
