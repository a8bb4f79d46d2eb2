// What a session is doing, for the status bar: its agent, its state, its cost, and whether it asks. Pure.

import type { Snapshot } from "../../src/store";
import type { UndoIntent } from "../../src/types";
import { isAsking, isRunning } from "../../src/turns";
import { line } from "../../src/view/display_text";
import { sessionWords } from "../../src/view/state_words";
import { money } from "../../src/view/usage";

export interface Summary {
  readonly agent: string;
  readonly state: string;
  /** Empty if the agent does not say. */
  readonly cost: string;
  /** It waits for an answer of the user. */
  readonly asks: boolean;
  /** The id of the running turn; null if none runs. */
  readonly running: string | null;
}

export function summaryOf({ state, turns, link }: Snapshot): Summary {
  const { session } = state;
  const turn = turns.find(({ start }) => start && isRunning(start)) ?? null;
  const live = link === "live";
  return {
    agent: line(session.agent?.title ?? session.agent?.name ?? "Agent"),
    state: sessionWords(session, link, turn).text,
    cost: session.usage?.cost ? money(session.usage.cost) : "",
    asks: live && turn !== null && isAsking(turn.items),
    running: live && turn?.start ? (turn.start.id ?? turn.start.key) : null,
  };
}

/** What undoes the last turn: what the user has neither kept nor undone. */
export function undoingLastTurn({ state, link }: Snapshot): UndoIntent[] {
  const last = state.items.filter((item) => item.type === "turn").at(-1);
  if (link !== "live" || !last) return [];
  const changes = state.items.flatMap((item) =>
    item.type === "changes" && item.turn === last.key ? item.files : [],
  );
  const open = changes.filter((it) => it.undoable && it.state !== "kept" && it.state !== "undone");
  const undo = { t: "undo", turn: last.key } as const;
  const whole = open.filter(({ hunks }) => !hunks.some(({ kept }) => kept)).map(({ id }) => id);
  const parts = open
    .filter(({ id }) => !whole.includes(id))
    .flatMap(({ id, hunks }) =>
      hunks
        .filter((it) => !it.kept && !it.undone)
        .map((it) => ({ ...undo, file: id, hunk: it.id })),
    );
  return whole.length > 0 ? [{ ...undo, files: whole }, ...parts] : parts;
}
