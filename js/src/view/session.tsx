// The whole session: a header, the turns in their own scroll area, and the composer. The frame is as high as the
// page has room for it; only the turns scroll.

import type { ComponentChildren, Ref } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { inFrame } from "../frame_schedule";
import type { Link, Snapshot } from "../store";
import { isRunning, turnId } from "../turns";
import type { Turn } from "../turns";
import type { Draft, Header } from "../types";
import { AgentPicker } from "./agent_picker";
import { bringPanel } from "./bring";
import { Composer } from "./composer";
import { EmptyPanel } from "./empty_panel";
import { useFollow } from "./follow";
import { HeaderView } from "./header";
import type { MenuEntry } from "./header_menu";
import { Icon } from "./icons";
import { KeysLine, useKeys } from "./keys";
import { OtherSession } from "./other_session";
import { PanelTurn } from "./panel_turn";
import { Picker } from "./picker";
import { PlaceContext, useAsksHere, useDraws, useOnce } from "./place";
import { PANEL } from "./places";
import { wordsOf } from "./prompt_text";
import { TargetContext, useReach, useTarget } from "./reveal";
import type { Target } from "./reveal";
import { useRoom } from "./room";
import { SessionChanges } from "./session_changes";
import { Settings } from "./settings";
import { useWriting, WritingContext } from "./writing";
import { useTalk } from "./use_talk";

/** Turns shown at first, the newest ones; and as many more each time. */
export const NEWEST_TURNS = 20;
/** Drawn in one frame: all of them at once would freeze the page. */
export const TURNS_AT_ONCE = 2;

interface Props {
  snapshot: Snapshot;
  draft: Draft;
  /** Shown above the composer. */
  banners: ComponentChildren;
}

export function SessionView({ snapshot, draft, banners }: Props) {
  const { state, turns, link, sent, queue, offered, previewed, returned } = snapshot;
  const running = runningOf(turns);
  const end = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const { away, toEnd } = useFollow(end, running !== null, { own: true });
  useRoom(panel);
  useShown(panel, turns.length === 0);
  useDraws(PANEL, panel);
  const { places } = useContext(PlaceContext);
  const id = running ? turnId(running) : null;
  const stop = useOnce(
    id && `stop:${id}`,
    () => panel.current?.querySelector(".acp-field") ?? null,
  );
  const asksHere = useAsksHere(askedIn(turns), panel);
  const stoppable = link === "live" && id !== null && running?.cancelling !== true && !sent.has(id);
  const { onKeyDown, onKeyUp, onInput, ...keys } = useKeys(stoppable ? id : null);
  const prompts = useMemo(() => promptsOf(turns), [turns]);
  const [used, setUsed] = useState(false);
  const { writing, wanted } = useWriting();
  const [picking, setPicking] = useState<"sessions" | "agents" | null>(null);
  const pick = (what: "sessions" | "agents") => setPicking(picking === what ? null : what);
  const [setting, setSetting] = useState(false);
  const talk = useTalk(snapshot, panel);
  const [other, setOther] = useState<string | null>(null);
  const closePicker = () => {
    setPicking(null);
    const button = picking === "sessions" ? "[data-acp-sessions]" : "[data-acp-more]";
    panel.current?.querySelector<HTMLElement>(button)?.focus();
  };
  const closeSettings = () => {
    setSetting(false);
    panel.current?.querySelector<HTMLElement>("[data-acp-settings]")?.focus();
  };
  const showOther = (model: string) => {
    setPicking(null);
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
        data-used={used}
        data-searching={talk.searching}
        {...{ onKeyDown, onKeyUp, onInput }}
        onFocusIn={({ target, currentTarget }) =>
          target instanceof HTMLTextAreaElement && bringPanel(currentTarget)
        }
      >
        <HeaderView
          header={state.session}
          running={turns.find(({ start }) => start !== null && start === running) ?? null}
          since={snapshot.since}
          settings={snapshot.settings}
          sent={sent}
          expanded={setting}
          openSettings={() => setSetting(!setting)}
          entries={[
            ...(listsSessions(state.session)
              ? [sessionsEntry(picking === "sessions", () => pick("sessions"))]
              : []),
            settingsEntry(setting, () => setSetting(!setting)),
            { id: "agents", label: "Agents…", run: () => pick("agents") },
            ...talk.entries,
          ]}
        />
        {talk.bars}
        {setting && (
          <Settings
            header={state.session}
            settings={snapshot.settings}
            sent={sent}
            close={closeSettings}
          />
        )}
        {picking === "agents" && (
          <AgentPicker picked={snapshot.picked} show={showOther} close={closePicker} />
        )}
        {picking === "sessions" && (
          <Picker
            offers={state.session.agent?.offers ?? []}
            picked={snapshot.picked}
            show={showOther}
            close={closePicker}
          />
        )}
        <WritingContext.Provider value={writing}>
          <TargetContext.Provider value={talk.target}>
            <Conversation snapshot={snapshot} content={end} />
          </TargetContext.Provider>
        </WritingContext.Provider>
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
            {...{ draft, prompts, queue, sent, offered, previewed, returned, turns, wanted }}
            images={state.session.agent?.offers?.includes("image") ?? !state.session.agent}
            commands={state.session.commands ?? []}
            running={id}
            stopping={running?.cancelling === true}
            stop={stop.holds}
            off={offText(link, state.session.status)}
            onSend={() => {
              places.prompted();
              setUsed(true);
              onInput(); // the field has used the key
              toEnd();
            }}
          />
          <KeysLine keys={keys} running={stoppable} asking={asksHere} />
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

/** The keys of the open permission questions. */
function askedIn(turns: readonly Turn[]): string[] {
  return turns.flatMap(({ items }) =>
    items.flatMap((it) => (it.type === "question" && it.status === "open" ? [it.key] : [])),
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

function settingsEntry(expanded: boolean, run: () => void): MenuEntry {
  return { id: "settings", label: "Settings", icon: "settings", inRow: true, expanded, run };
}

/** The newest turns; earlier ones on demand. */
function Conversation({ snapshot, content }: { snapshot: Snapshot; content: Ref<HTMLDivElement> }) {
  const { turns, link, sent, folds, since, terminals } = snapshot;
  const [count, setCount] = useState(NEWEST_TURNS);
  const target = useTarget();
  const reach = target ? turns.findIndex((turn) => turn.key === target.turn) : -1;
  useReach(reach, turns.length, count, NEWEST_TURNS, setCount);
  const hidden = Math.max(0, turns.length - count);
  const shown = useSomeMore(turns.slice(hidden), target);
  const running = runningOf(turns);
  const drawn = useRef(false);
  useEffect(() => void (drawn.current = true), []);
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
        {shown.map((turn) => (
          <PanelTurn
            key={turn.key}
            turn={turn}
            since={turn.start === running ? since : null}
            cited={terminals.cited}
            {...{ sent, folds, drawn }}
          />
        ))}
        {turns.length === 0 && (
          <EmptyPanel
            link={link}
            commands={(snapshot.state.session.commands?.length ?? 0) > 0}
            examples={snapshot.examples}
          />
        )}
      </div>
    </div>
  );
}

/** The turns that were drawn before, the one to show, and the newest of the others; a few more in each frame. */
function useSomeMore(turns: readonly Turn[], target: Target | null): readonly Turn[] {
  const drawn = useRef<ReadonlySet<string>>(new Set());
  const [, redraw] = useState(0);
  const isNew = (turn: Turn) => !drawn.current.has(turn.key) && turn.key !== target?.turn;
  const later = new Set(turns.filter(isNew).slice(0, -TURNS_AT_ONCE));
  const now = turns.filter((turn) => !later.has(turn));
  useEffect(() => {
    drawn.current = new Set(now.map(({ key }) => key));
    if (later.size === 0) return;
    return inFrame(() => redraw((count) => count + 1));
  });
  return now;
}

function runningOf(turns: readonly Turn[]): Turn["start"] {
  return turns.find(({ start }) => start && isRunning(start))?.start ?? null;
}

function promptsOf(turns: readonly Turn[]): string[] {
  const texts = turns.map(({ start }) => wordsOf(start?.prompt ?? []));
  return texts.filter((text, at) => text.trim() !== "" && text !== texts[at - 1]);
}

function offText(link: Link, status: string | undefined): string | null {
  if (link === "waiting") return "Waiting for the kernel…";
  if (link === "gone") return "Run this cell to reconnect";
  if (link !== "live") return "Disconnected";
  return status === "closed" ? "The session is closed" : null;
}
