// What a session is doing, for the status bar: its agent, its state, its cost, and whether it asks. Pure.

import type { Snapshot } from "../../src/store";
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

/** The newest turn with changes that can be undone, by the key of its item; null if there is none. */
export function undoableTurn({ state, link }: Snapshot): string | null {
  if (link !== "live") return null;
  for (const item of [...state.items].reverse())
    if (item.type === "changes" && item.turn !== null)
      if (item.files.some((file) => file.state !== "undone")) return item.turn;
  return null;
}
