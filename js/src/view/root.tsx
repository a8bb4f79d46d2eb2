// The root of every view: one turn, or the whole session.

import { useMemo } from "preact/hooks";
import type { Snapshot } from "../store";
import { isRunning, turnId } from "../turns";
import type { Draft, Emit } from "../types";
import { Banner } from "./banner";
import { DoingContext, sentDeed } from "./operations";
import type { Doing } from "./operations";
import { DiffLayout } from "./diff";
import type { Layout } from "./diff";
import { Folder } from "./path";
import { ServerPaths } from "./places";
import { emptyText, SessionView } from "./session";
import { SignInAlone, SignInView } from "./signin";
import { TerminalsById } from "./terminal";
import { Trouble } from "./trouble";
import { TurnAlone } from "./turn";

interface Props {
  /** The id of the turn to show; null for the whole session. */
  turn: string | null;
  snapshot: Snapshot;
  /** What is being written in the session's field when the view begins. */
  draft: Draft;
  emit: Emit;
}

/** What the reader chose for all diffs is kept among the folds. */
const SPLIT = "diffs:split";

/** What stands where a turn's id does, below a cell that waits for a session. */
const SIGN_IN = "sign-in";

export function Root({ turn, snapshot, draft, emit }: Props) {
  const { link, refused, state, sent, folds, terminals, places } = snapshot;
  const split = folds.get(SPLIT) ?? false;
  const layout: Layout = useMemo(
    () => ({ split, choose: (open) => emit({ t: "fold", key: SPLIT, open }) }),
    [split, emit],
  );
  const doing = useDoing(snapshot, emit);
  // At the end, where the newest stands and the reader is.
  const told = (
    <>
      <Banner link={link} refused={refused} emit={emit} />
      {troubled(snapshot, turn) && (
        <Trouble
          header={state.session}
          live={link === "live"}
          sent={sent.get("restart") ?? sent.get("reopen")}
          emit={emit}
        />
      )}
      {signsIn(snapshot, turn) && (
        <SignInView header={state.session} live={link === "live"} emit={emit} />
      )}
    </>
  );
  return (
    <Folder.Provider value={state.session.agent?.cwd ?? ""}>
      <ServerPaths.Provider value={places}>
        <TerminalsById.Provider value={terminals.byId}>
          <DoingContext.Provider value={doing}>
            <DiffLayout.Provider value={layout}>
              <div
                class="acp"
                data-acp-link={link}
                data-acp-root={turn ?? "session"}
                onFocusIn={keepKeys}
              >
                {turn === null ? (
                  <SessionView snapshot={snapshot} draft={draft} emit={emit} told={told} />
                ) : turn === SIGN_IN ? (
                  <SignInAlone header={state.session} live={link === "live"} emit={emit} />
                ) : (
                  <>
                    <OneTurn turn={turn} snapshot={snapshot} emit={emit} />
                    {told}
                  </>
                )}
              </div>
            </DiffLayout.Provider>
          </DoingContext.Provider>
        </TerminalsById.Provider>
      </ServerPaths.Provider>
    </Folder.Provider>
  );
}

/** What has a use for letters and arrows itself. Notebook 7 looks for its own keys before we can, also among
    those of what has the focus within a cell, unless that itself is marked. */
const OWN_KEYS = "input, select, textarea";

function keepKeys({ target }: FocusEvent): void {
  if (target instanceof Element && target.matches(OWN_KEYS))
    target.setAttribute("data-lm-suppress-shortcuts", "true");
}

function useDoing({ link, sent, turns }: Snapshot, emit: Emit): Doing {
  const running = turns.some(({ start }) => start !== null && isRunning(start));
  const operation = sentDeed(sent);
  return useMemo(
    () => ({ emit, link, running, sent: operation }),
    [emit, link, running, operation],
  );
}

/** The whole session shows a sign-in that is wanted; of the turns, the one that waits for it. */
function signsIn({ link, turns }: Snapshot, turn: string | null): boolean {
  if (link === "gone") return false;
  const own = turns.find(({ start }) => start && turnId(start) === turn)?.start;
  return turn === null || !own || isRunning(own); // not begun: the sign-in is what it waits for
}

/** A turn shows the agent's trouble only as long as it is the newest: later ones are not its own. */
function troubled({ link, turns, unsent }: Snapshot, turn: string | null): boolean {
  if (link === "gone") return false;
  if (turn === null) return true;
  const begun = turns.flatMap(({ start }) => (start ? [turnId(start)] : []));
  const ids = [...begun.slice(-1), ...unsent].sort((one, other) => numberOf(one) - numberOf(other));
  return ids.at(-1) === turn;
}

/** The kernel numbers turns in the order in which they were asked for: t1, t2, … */
function numberOf(id: string): number {
  return Number(id.replace(/\D/g, ""));
}

function OneTurn({ turn: id, snapshot, emit }: Omit<Props, "draft"> & { turn: string }) {
  const { link, sent, folds, since, terminals, turns, unsent } = snapshot;
  const turn = turns.find(({ start }) => start && turnId(start) === id);
  if (turn)
    return (
      <TurnAlone
        turn={turn}
        since={since}
        cited={terminals.cited}
        {...{ link, sent, folds, emit }}
      />
    );
  const over = unsent.includes(id);
  const text = over ? "This prompt was not sent." : "Waiting for the turn before it…";
  return (
    <div class="acp-turn" data-acp-turn={id} data-acp-status={over ? "unsent" : "waiting"}>
      <p class="acp-quiet" role="status">
        {link === "live" ? text : emptyText(link)}
      </p>
    </div>
  );
}
