// The session as this page knows it: the kernel's state, and what only the browser knows (what was
// sent and is not settled, open folds, whether the kernel is there). Decides what a message means and
// what to answer; sends nothing itself, and knows neither the widget's model nor the DOM.

import type { Schedule } from "./frame";
import { applyPatches, EMPTY } from "./patches";
import { groupTurns, turnId } from "./turns";
import type { Turn } from "./turns";
import { never } from "./types";
import type { Bundle, FromKernel, Intent, LocalIntent, State, ToKernel } from "./types";

/** waiting: no state yet. offline: the connection is lost and may come back. gone: the kernel is. */
export type Link = "waiting" | "live" | "offline" | "gone";

/** An answer or a cancel on its way; slow: the kernel has not taken it yet. */
export interface Sent {
  readonly intent: Intent;
  readonly slow: boolean;
}

/** What views draw. Parts that did not change are the same objects as in the snapshot before. */
export interface Snapshot {
  readonly state: State;
  readonly turns: readonly Turn[];
  readonly link: Link;
  /** By the question's key, or the turn's id. */
  readonly sent: ReadonlyMap<string, Sent>;
  readonly folds: ReadonlyMap<string, boolean>;
  readonly refused: string | null;
  /** Grows when what the file should hold changed without a change of the state. */
  readonly bundles: number;
}

/** Longer than any kernel that listens takes to answer. */
export const SLOW_MS = 2000;
/** A resync is asked once; only if nothing at all came for this long, again. */
export const ASK_AGAIN_MS = 5000;

export interface Clock {
  now(): number;
  after(ms: number, run: () => void): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => void setTimeout(run, ms),
};

export class Store {
  #snapshot: Snapshot = {
    state: EMPTY,
    turns: [],
    link: "waiting",
    sent: new Map(),
    folds: new Map(),
    refused: null,
    bundles: 0,
  };
  #have: number | null = null;
  #askedAt: number | null = null;
  #bundles = new Map<string, Bundle>();
  #listeners = new Set<(snapshot: Snapshot) => void>();

  constructor(
    private readonly schedule: Schedule,
    private readonly clock: Clock = systemClock,
  ) {}

  // ---- reading

  get snapshot(): Snapshot {
    const now = this.#snapshot;
    const turns = groupTurns(now.state.items, now.turns);
    const moved =
      turns.length !== now.turns.length || turns.some((turn, at) => turn !== now.turns[at]);
    if (moved) this.#snapshot = { ...now, turns };
    return this.#snapshot;
  }

  /** The newest sequence number; 0 before the first state. */
  get have(): number {
    return this.#have ?? 0;
  }

  get link(): Link {
    return this.#snapshot.link;
  }

  /** What the kernel made for the file: of a turn by its id, or of the "session". */
  bundle(turn: string): Bundle | undefined {
    return this.#bundles.get(turn);
  }

  /** Called once per frame in which something changed. */
  subscribe(listener: (snapshot: Snapshot) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  // ---- from the kernel

  /** Take a message; what to answer, if anything, comes back. */
  receive(message: FromKernel): ToKernel | null {
    switch (message.t) {
      case "state":
        this.#have = message.seq;
        this.#askedAt = null;
        this.#change({ state: message.state, link: "live" });
        this.#settle();
        return null;
      case "patches":
        return this.#patches(message.seq, message.patches);
      case "beat":
        return this.#beat(message.seq);
      case "static":
        this.#keepBundle(message.turn, message.bundle);
        return null;
      case "refused":
        // Nothing says which: all buttons come back, and the kernel still takes only the first answer.
        this.#change({ refused: message.what, sent: new Map() });
        return null;
      default:
        return never(message);
    }
  }

  #patches(seq: number, patches: Parameters<typeof applyPatches>[1]): ToKernel | null {
    if (this.#have === null || this.#askedAt !== null) return null; // a state is on its way
    if (seq !== this.#have + 1) return this.#ask();
    try {
      this.#change({ state: applyPatches(this.#snapshot.state, patches) });
    } catch (error) {
      console.warn("acp_notebook: a patch does not fit; asking for the whole state", error);
      return this.#ask();
    }
    this.#have = seq;
    this.#settle();
    return null;
  }

  #beat(seq: number): ToKernel | null {
    if (this.#have === null || this.#askedAt !== null) {
      const since = this.clock.now() - (this.#askedAt ?? -Infinity);
      return since > ASK_AGAIN_MS ? this.#ask() : null;
    }
    return seq > this.#have ? this.#ask() : null;
  }

  #ask(): ToKernel {
    this.#askedAt = this.clock.now();
    return { t: "resync", have: this.have };
  }

  #keepBundle(turn: string, bundle: Bundle): void {
    const before = this.#bundles.get(turn);
    this.#bundles.set(turn, bundle);
    if (before && JSON.stringify(before) !== JSON.stringify(bundle)) {
      this.#change({ bundles: this.#snapshot.bundles + 1 });
    }
  }

  // ---- from this page

  /** Asked for a state already (a hello does): patches before it are not for us. */
  expectState(): void {
    this.#askedAt = this.clock.now();
  }

  setLink(link: Link): void {
    // The kernel that held this session does not come back: another one has none of it.
    if (this.link !== "gone" && this.link !== link) this.#change({ link });
  }

  /** An intent was sent: it counts as on its way until the state shows it settled. */
  sending(intent: Intent): void {
    const key = sentKey(intent);
    if (key === null) return;
    this.#change({ sent: with_(this.#snapshot.sent, key, { intent, slow: false }), refused: null });
    this.clock.after(SLOW_MS, () => {
      const still = this.#snapshot.sent.get(key);
      if (still?.intent !== intent || this.link !== "live") return;
      this.#change({ sent: with_(this.#snapshot.sent, key, { intent, slow: true }) });
    });
  }

  local(intent: LocalIntent): void {
    switch (intent.t) {
      case "fold":
        this.#change({ folds: with_(this.#snapshot.folds, intent.key, intent.open) });
        return;
      case "dismiss":
        this.#change({ refused: null });
        return;
      default:
        never(intent);
    }
  }

  // ----

  #settle(): void {
    const { sent, state } = this.#snapshot;
    if (sent.size === 0) return;
    const open = new Map([...sent].filter(([, { intent }]) => isOpen(intent, state)));
    if (open.size !== sent.size) this.#change({ sent: open });
  }

  #change(change: Partial<Snapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    this.schedule(() => {
      const snapshot = this.snapshot;
      for (const listener of [...this.#listeners]) listener(snapshot);
    });
  }
}

function with_<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> {
  return new Map(map).set(key, value);
}

function sentKey(intent: Intent): string | null {
  switch (intent.t) {
    case "answer":
      return intent.question;
    case "cancel":
      return intent.turn;
    case "prompt":
      return null;
    default:
      return never(intent);
  }
}

/** Whether the state does not show yet that the intent arrived. */
function isOpen(intent: Intent, state: State): boolean {
  return state.items.some((item) => {
    if (intent.t === "answer")
      return item.type === "question" && item.key === intent.question && item.status === "open";
    return (
      intent.t === "cancel" &&
      item.type === "turn" &&
      turnId(item) === intent.turn &&
      item.status === "running" &&
      !item.cancelling
    );
  });
}
