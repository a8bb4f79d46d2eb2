// What of a session needs the user, although they do not look at it: a question, or the end of a long turn. Pure.

import type { Snapshot } from "./store";
import { isRunning } from "./turns";
import type { Turn } from "./turns";

export interface Attention {
  /** The same for the same event, in every tab. */
  readonly key: string;
  /** What kind of event it is, and nothing of the conversation: lock screens show it. */
  readonly text: string;
}

/** Shorter turns are not worth a notification. */
export const LONG_S = 10;

/** What happened between two states of the session, the most urgent only. */
export function attentionOf(before: Snapshot, now: Snapshot): Attention | null {
  if (before.link !== "live" || now.link !== "live") return null;
  const was = new Map(before.turns.map((turn) => [turn.key, turn]));
  let ended: Attention | null = null;
  for (const turn of now.turns) {
    const then = was.get(turn.key);
    if (turn === then) continue;
    const asked = newQuestion(then, turn);
    if (asked) return asked;
    ended = endOf(then, turn) ?? ended;
  }
  return ended;
}

function newQuestion(then: Turn | undefined, { items }: Turn): Attention | null {
  const open = items.find(
    (item) => (item.type === "question" || item.type === "elicitation") && item.status === "open",
  );
  if (!open || then?.items.some(({ key }) => key === open.key)) return null;
  const text = open.type === "question" ? "Waiting for your permission" : "Waiting for your answer";
  return { key: open.key, text };
}

function endOf(then: Turn | undefined, { start }: Turn): Attention | null {
  if (!start || !then?.start || !isRunning(then.start) || isRunning(start)) return null;
  if ((start.seconds ?? 0) < LONG_S || start.stop_reason === "cancelled") return null;
  return { key: start.key, text: start.status === "done" ? "Finished" : "Failed" };
}
