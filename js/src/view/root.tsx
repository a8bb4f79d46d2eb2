// The root of every view: one turn, or the whole session.

import { useMemo, useRef } from "preact/hooks";
import type { Snapshot } from "../store";
import { isRunning, newestTurn, turnId } from "../turns";
import type { Draft, Emit } from "../types";
import { Banner, Refused } from "./banner";
import { emptyText } from "./empty_panel";
import { SPLIT_FOLD } from "./diff";
import { GoingOn } from "./going_on";
import { sentOperation } from "./operations";
import { ActivityContext, PanelContext } from "./panel";
import type { Activity, Panel } from "./panel";
import { useDraws } from "./place";
import { SessionView } from "./session";
import { SessionNotes, SignInAlone } from "./session_notes";
import { Terminals } from "./terminal";
import { repeats } from "./trouble";
import { TurnAlone, TurnView } from "./turn";

interface Props {
  /** The id of the turn to show; null for the whole session. */
  turn: string | null;
  snapshot: Snapshot;
  /** The prompt that is being written when the view is created. */
  draft: Draft;
  emit: Emit;
  /** Within the view of another session, which asked for the turn. */
  inside?: boolean;
}

/** Takes the place of a turn's id below a cell that waits for a session. */
const SIGN_IN = "sign-in";

export function Root({ turn, snapshot, draft, emit, inside = false }: Props) {
  const { link, state, terminals } = snapshot;
  // At the end: the newest is there, and so is the reader.
  const banners = <Banners turn={turn} snapshot={snapshot} />;
  const root = useRef<HTMLDivElement>(null);
  useDraws(inside || turn === SIGN_IN ? null : turn, root);
  return (
    <PanelContext.Provider value={usePanelValue(snapshot, emit)}>
      <ActivityContext.Provider value={useActivityValue(snapshot)}>
        <Terminals byId={terminals.byId}>
          <div
            ref={root}
            class="acp"
            data-acp-link={link}
            data-acp-root={turn ?? "session"}
            onFocusIn={suppressHostKeys}
          >
            {turn === null ? (
              <SessionView snapshot={snapshot} draft={draft} banners={banners} />
            ) : turn === SIGN_IN ? (
              <SignInAlone header={state.session} />
            ) : (
              <>
                <OneTurn turn={turn} snapshot={snapshot} inside={inside} />
                {banners}
              </>
            )}
          </div>
        </Terminals>
      </ActivityContext.Provider>
    </PanelContext.Provider>
  );
}

/** The same object as long as nothing in it changes. */
function usePanelValue({ link, state, places, folds }: Snapshot, emit: Emit): Panel {
  const folder = state.session.agent?.cwd ?? "";
  const split = folds.get(SPLIT_FOLD) ?? false;
  const signIn = Boolean(state.session.sign_in);
  return useMemo(
    () => ({ emit, link, signIn, folder, places, split }),
    [emit, link, signIn, folder, places, split],
  );
}

function useActivityValue({ sent, turns, state }: Snapshot): Activity {
  const running = turns.some(({ start }) => start !== null && isRunning(start));
  const operation = sentOperation(sent);
  const newest = state.session.status === "closed" ? null : (newestTurn(turns)?.key ?? null);
  return useMemo(() => ({ running, operation, newest }), [running, operation, newest]);
}

/** Elements that use letters and arrows themselves. Notebook 7 handles its shortcuts before we see the key,
    unless the focused element itself is marked. */
const OWN_KEYS = "input, select, textarea";

function suppressHostKeys({ target }: FocusEvent): void {
  if (target instanceof Element && target.matches(OWN_KEYS))
    target.setAttribute("data-lm-suppress-shortcuts", "true");
}

/** What is wrong with the connection, the agent or the sign-in. */
function Banners({ turn, snapshot }: { turn: string | null; snapshot: Snapshot }) {
  const { refused, state, sent, goingOn } = snapshot;
  const again = refused !== null && repeats(refused, state.session);
  return (
    <>
      <Banner />
      {refused !== null && !again && <Refused text={refused} inPanel={turn === null} />}
      <SessionNotes
        header={state.session}
        inPanel={turn === null}
        trouble={showsTrouble(snapshot, turn)}
        signIn={showsSignIn(snapshot, turn)}
        sent={sent.get("restart") ?? sent.get("reopen")}
        again={again}
      />
      {turn === null && goingOn && <GoingOn offer={goingOn} sent={sent.get("go_on")} />}
    </>
  );
}

/** The session always shows a sign-in that the agent requires; a turn only while it waits for it. */
function showsSignIn({ link, turns }: Snapshot, turn: string | null): boolean {
  if (link === "gone") return false;
  const own = turns.find(({ start }) => start && turnId(start) === turn)?.start;
  return turn === null || !own || isRunning(own); // not started yet: the sign-in is what it waits for
}

/** A turn shows the agent's trouble only while it is the newest: later trouble is not its own. */
function showsTrouble({ link, turns, unsent }: Snapshot, turn: string | null): boolean {
  if (link === "gone") return false;
  if (turn === null) return true;
  const begun = turns.flatMap(({ start }) => (start ? [turnId(start)] : []));
  const ids = [...begun.slice(-1), ...unsent].sort((one, other) => numberOf(one) - numberOf(other));
  return ids.at(-1) === turn;
}

/** The kernel numbers turns in the order of their prompts: t1, t2, … */
function numberOf(id: string): number {
  return Number(id.replace(/\D/g, ""));
}

interface OneProps {
  turn: string;
  snapshot: Snapshot;
  inside: boolean;
}

function OneTurn({ turn: id, snapshot, inside }: OneProps) {
  const { link, sent, folds, since, terminals, turns, unsent } = snapshot;
  const turn = turns.find(({ start }) => start && turnId(start) === id);
  if (turn) {
    const shown = { turn, sent, folds, since, cited: terminals.cited };
    return inside ? <TurnView {...shown} inside /> : <TurnAlone {...shown} />;
  }
  const over = unsent.includes(id);
  const text = over ? "This prompt was not sent." : "Waiting for the previous turn…";
  return (
    <div class="acp-turn" data-acp-turn={id} data-acp-status={over ? "unsent" : "waiting"}>
      <p class="acp-quiet" role="status">
        {link === "live" ? text : emptyText(link)}
      </p>
    </div>
  );
}
