// The root of every view: one turn, or the whole session.

import type { Link, Snapshot } from "../store";
import { turnId } from "../turns";
import type { Emit } from "../types";
import { Banner } from "./banner";
import { HeaderView } from "./header";
import { Folder } from "./path";
import { TurnView } from "./turn";

interface Props {
  /** The id of the turn to show; null for the whole session. */
  turn: string | null;
  snapshot: Snapshot;
  emit: Emit;
}

export function Root({ turn, snapshot, emit }: Props) {
  const { link, refused, state } = snapshot;
  return (
    <Folder.Provider value={state.session.agent?.cwd ?? ""}>
      <div class="acp" data-acp-link={link} data-acp-root={turn ?? "session"}>
        <Banner link={link} refused={refused} emit={emit} />
        {turn === null ? (
          <SessionView snapshot={snapshot} emit={emit} />
        ) : (
          <OneTurn turn={turn} snapshot={snapshot} emit={emit} />
        )}
      </div>
    </Folder.Provider>
  );
}

function SessionView({ snapshot, emit }: Omit<Props, "turn">) {
  const { state, turns } = snapshot;
  return (
    <>
      <HeaderView header={state.session} />
      {turns.map((turn) => (
        <TurnView key={turn.start?.key ?? ""} turn={turn} {...shared(snapshot)} emit={emit} />
      ))}
      {turns.length === 0 && <p class="acp-quiet">{emptyText(snapshot.link)}</p>}
    </>
  );
}

function OneTurn({ turn: id, snapshot, emit }: Props & { turn: string }) {
  const turn = snapshot.turns.find(({ start }) => start && turnId(start) === id);
  if (turn) return <TurnView turn={turn} {...shared(snapshot)} emit={emit} />;
  return (
    <section class="acp-turn" data-acp-turn={id} data-acp-status="waiting">
      <p class="acp-quiet" role="status">
        {snapshot.link === "live" ? "Waiting for the turn before it…" : emptyText(snapshot.link)}
      </p>
    </section>
  );
}

function shared({ link, sent, folds }: Snapshot) {
  return { link, sent, folds };
}

function emptyText(link: Link): string {
  return link === "waiting" ? "Waiting for the kernel…" : "Nothing yet.";
}
