// Doubles for the tests: a clock and frames that the test moves, and states to begin with.

import { vi } from "vitest";
import type { Clock } from "../src/store";
import { Store } from "../src/store";
import type { Item, NowMessage, QueueEntry, State, TurnItem } from "../src/types";

export class FakeClock implements Clock {
  time = 0;
  #waiting: { at: number; run: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, run: () => void): void {
    this.#waiting.push({ at: this.time + ms, run });
  }

  pass(ms: number): void {
    this.time += ms;
    const due = this.#waiting.filter(({ at }) => at <= this.time);
    this.#waiting = this.#waiting.filter(({ at }) => at > this.time);
    for (const { run } of due) run();
  }
}

/** Frames that come when the test says so. */
export class Frames {
  #run: (() => void) | null = null;
  readonly schedule = (run: () => void): void => void (this.#run ??= run);

  draw(): void {
    const run = this.#run;
    this.#run = null;
    run?.();
  }
}

export function makeStore(): { store: Store; clock: FakeClock; frames: Frames } {
  const clock = new FakeClock();
  const frames = new Frames();
  return { store: new Store(frames.schedule, clock), clock, frames };
}

export function queuedPrompt(
  turn: string,
  text: string,
  more: Partial<QueueEntry> = {},
): QueueEntry {
  return { turn, text, more: 0, cut: false, ...more };
}

export function now(
  queue: readonly QueueEntry[],
  elapsed: number | null,
  unsent: readonly string[] = [],
): NowMessage {
  return { t: "now", queue, unsent, elapsed };
}

export function turn(fields: Partial<TurnItem> = {}): TurnItem {
  return {
    key: "k1",
    type: "turn",
    turn: "k1",
    id: "t1",
    number: 1,
    status: "running",
    prompt: [{ type: "text", text: "Fix it" }],
    ...fields,
  };
}

export function message(key: string, text: string, role = "agent", of = "k1"): Item {
  return { key, type: "message", turn: of, role, content: [{ type: "text", text }] };
}

export function question(fields: object = {}): Item {
  return {
    key: "k7",
    type: "question",
    turn: "k1",
    id: "q1",
    tool: null,
    options: [
      { id: "yes", name: "Allow", kind: "allow_once" },
      { id: "no", name: "Reject", kind: "reject_once" },
    ],
    status: "open",
    ...fields,
  } as Item;
}

export function state(...items: Item[]): State {
  return { session: { key: "session", status: "working" }, items };
}

/** Waits until it holds, on a machine of any speed. */
export const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 60_000 });
