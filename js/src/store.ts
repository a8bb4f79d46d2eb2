// The session as this page knows it: the kernel's state, and what only the browser knows (what was
// sent and is not settled, open folds, whether the kernel is there). Decides what a message means and
// what to answer; sends nothing itself, and knows neither the widget's model nor the DOM.

import type { Schedule } from "./frame";
import { applyPatches, EMPTY } from "./patches";
import { groupTurns, isRunning, terminalsOf, turnId } from "./turns";
import type { Terminals, Turn } from "./turns";
import { never } from "./types";
import type {
  Bundle,
  OperationIntent,
  Draft,
  FromKernel,
  Intent,
  LocalIntent,
  Offered,
  Picked,
  Queued,
} from "./types";
import type { Prefixes, Resync, State } from "./types";

/** waiting: no state yet. offline: the connection is lost and may come back. gone: the kernel is. */
export type Link = "waiting" | "live" | "offline" | "gone";

/** Something that was asked of the kernel, on its way; slow: the kernel has not taken it yet. */
export interface Sent {
  readonly intent: Intent;
  readonly slow: boolean;
  /** The kernel is at it: so many files of so many. */
  readonly doing?: { readonly at: number; readonly of: number };
  /** It came back: what is wrong with it, by field. */
  readonly wrong?: { readonly [name: string]: string };
}

/** What views draw. Parts that did not change are the same objects as in the snapshot before. */
export interface Snapshot {
  readonly state: State;
  readonly turns: readonly Turn[];
  readonly terminals: Terminals;
  readonly link: Link;
  /** Prompts that wait for the turns before them. */
  readonly queue: readonly Queued[];
  /** Turns that are over and never began, by their ids. */
  readonly unsent: readonly string[];
  /** When the running turn began, by this page's clock; null: none runs, or it is not known. */
  readonly since: number | null;
  /** By the question's key, the turn's id, or what is set. */
  readonly sent: ReadonlyMap<string, Sent>;
  readonly folds: ReadonlyMap<string, boolean>;
  readonly refused: string | null;
  /** How the server calls the files; null: it is not known. */
  readonly places: Prefixes | null;
  /** A prompt that was refused with it: it is not lost. */
  readonly returned: { readonly text: string } | null;
  /** The newest answer to what an @-name can become. */
  readonly offered: Offered | null;
  /** The newest answers to what the picker asked, by their `rid`. */
  readonly picked: ReadonlyMap<string, Picked>;
  /** Grows when what the file should hold changed without a change of the state. */
  readonly bundles: number;
}

/** Longer than any kernel that listens takes to answer. */
export const SLOW_MS = 2000;
/** A setting that the agent took without a word, or turned into another one, does not wait for ever. */
export const SETTING_MS = 10_000;
/** Longer than many files take; the kernel says when it is done, unless that is lost. */
export const DEED_MS = 60_000;
/** A resync is asked once; only if nothing at all came for this long, again. */
export const ASK_AGAIN_MS = 5000;

/** Answers of the picker's that are kept: more than one page can be waiting for at once. */
const PICKED_KEPT = 8;

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
    terminals: { byId: new Map(), cited: new Set() },
    link: "waiting",
    queue: [],
    unsent: [],
    since: null,
    sent: new Map(),
    folds: new Map(),
    refused: null,
    places: null,
    returned: null,
    offered: null,
    picked: new Map(),
    bundles: 0,
  };
  #have: number | null = null;
  #askedAt: number | null = null;
  #bundles = new Map<string, Bundle>();
  #draft: Draft = { text: "", images: [] };
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
    if (!moved) return now;
    const terminals = terminalsOf(now.state.items, now.terminals);
    return (this.#snapshot = { ...now, turns, terminals, since: this.#since(now, turns) });
  }

  /** A turn that begins before our eyes begins now; the kernel tells of others how old they are. */
  #since({ since, turns: before }: Snapshot, turns: readonly Turn[]): number | null {
    const running = turns.find(({ start }) => start && isRunning(start));
    if (!running) return null;
    const known = before.some(({ start }) => start?.key === running.start?.key);
    return known ? since : this.clock.now();
  }

  /** What is being written; not a part of the snapshot, because only the field itself shows it. */
  get draft(): Draft {
    return this.#draft;
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
  receive(message: FromKernel): Resync | null {
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
        return this.#numbered(message.seq);
      case "now": {
        const { queue, unsent = [], elapsed } = message;
        const since = elapsed === null ? null : this.clock.now() - elapsed * 1000;
        void this.snapshot; // the turn that it speaks of counts as seen
        const sent = new Map(
          [...this.#snapshot.sent].filter(([, it]) => !QUEUEING.has(it.intent.t)),
        );
        this.#change({ queue, unsent, since, sent });
        return null;
      }
      case "places":
        this.#change({ places: message.prefixes });
        return null;
      case "invalid": {
        const { elicitation: key, errors: wrong } = message;
        const before = this.#snapshot.sent.get(key);
        if (before)
          this.#change({
            sent: with_(this.#snapshot.sent, key, { ...before, slow: false, wrong }),
          });
        return null;
      }
      case "doing":
        this.#doing(message.intent, { at: message.at, of: message.of });
        return null;
      case "done":
        this.#change({ sent: without(this.#snapshot.sent, sentKey(message.intent)) });
        return null;
      case "refused":
        // Nothing says which: all buttons come back, and the kernel still takes only the first answer.
        this.#change({ refused: message.what, sent: new Map() });
        if (message.prompt !== undefined) this.#change({ returned: { text: message.prompt } });
        return null;
      case "offered":
        this.#change({ offered: message });
        return null;
      case "picked": {
        const newest = [...this.#snapshot.picked].slice(-PICKED_KEPT);
        this.#change({ picked: new Map(newest).set(message.rid, message) });
        return null;
      }
      default:
        return never(message);
    }
  }

  /** A message that changes nothing of the state, but must not be missed. */
  #numbered(seq: number): Resync | null {
    if (this.#have === null || this.#askedAt !== null) return null; // a state is on its way
    if (seq !== this.#have + 1) return this.#ask();
    this.#have = seq;
    return null;
  }

  #patches(seq: number, patches: Parameters<typeof applyPatches>[1]): Resync | null {
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

  #beat(seq: number): Resync | null {
    if (this.#have === null || this.#askedAt !== null) {
      const since = this.clock.now() - (this.#askedAt ?? -Infinity);
      return since > ASK_AGAIN_MS ? this.#ask() : null;
    }
    return seq > this.#have ? this.#ask() : null;
  }

  #ask(): Resync {
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
    this.#change({ sent: with_(this.#snapshot.sent, key, { intent, slow: false }), refused: null });
    this.clock.after(SLOW_MS, () => {
      const still = this.#snapshot.sent.get(key);
      if (still?.intent !== intent || still.wrong || still.doing || this.link !== "live") return;
      this.#change({ sent: with_(this.#snapshot.sent, key, { intent, slow: true }) });
    });
    if (intent.t === "mode" || intent.t === "config") {
      this.clock.after(SETTING_MS, () => this.#forget(key, intent));
    }
    if (intent.t === "undo" || intent.t === "redo" || intent.t === "keep") {
      this.#forgetDeed(key);
    }
  }

  #doing(intent: OperationIntent, doing: NonNullable<Sent["doing"]>): void {
    const key = sentKey(intent);
    const before = this.#snapshot.sent.get(key);
    if (!before) return; // asked for in another page
    this.#change({ sent: with_(this.#snapshot.sent, key, { ...before, slow: false, doing }) });
    this.#forgetDeed(key);
  }

  /** Unless there is another word of it meanwhile. */
  #forgetDeed(key: string): void {
    const last = this.#snapshot.sent.get(key);
    this.clock.after(DEED_MS, () => {
      const now = this.#snapshot.sent.get(key);
      if (now && now.intent === last?.intent && now.doing === last.doing) {
        this.#forget(key, now.intent);
      }
    });
  }

  #forget(key: string, intent: Intent): void {
    if (this.#snapshot.sent.get(key)?.intent !== intent) return;
    this.#change({ sent: without(this.#snapshot.sent, key) });
  }

  local(intent: LocalIntent): void {
    switch (intent.t) {
      case "fold":
        this.#change({ folds: with_(this.#snapshot.folds, intent.key, intent.open) });
        return;
      case "draft":
        this.#draft = intent.draft;
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

/** What the kernel answers by telling of its queue. */
const QUEUEING: ReadonlySet<string> = new Set(["prompt", "again", "edit", "send_now", "move"]);

function with_<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> {
  return new Map(map).set(key, value);
}

function without<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  return map.has(key) ? new Map([...map].filter(([other]) => other !== key)) : map;
}

/** What an intent is remembered by until the state shows that it arrived. */
export function sentKey(intent: Intent): string {
  switch (intent.t) {
    case "answer":
      return intent.question;
    case "elicit":
      return intent.elicitation;
    case "cancel":
    case "edit":
    case "send_now":
    case "again":
    case "move":
      return intent.turn;
    case "mode":
    case "restart":
    case "reopen":
    case "prompt":
      return intent.t;
    case "config":
      return `config:${intent.id}`;
    case "undo":
    case "redo":
    case "keep":
      return [
        ...[intent.t, intent.turn ?? "", intent.file ?? "", intent.hunk ?? ""],
        ...(intent.files ?? []),
      ].join(":");
    default:
      return never(intent);
  }
}

/** Whether the state does not show yet that the intent arrived. */
function isOpen(intent: Intent, { session, items }: State): boolean {
  switch (intent.t) {
    case "answer":
      return items.some(
        (item) =>
          item.type === "question" && item.key === intent.question && item.status === "open",
      );
    case "elicit":
      return items.some(
        (item) =>
          item.type === "elicitation" && item.key === intent.elicitation && item.status === "open",
      );
    case "cancel":
      return items.some(
        (item) =>
          item.type === "turn" &&
          turnId(item) === intent.turn &&
          item.status === "running" &&
          !item.cancelling,
      );
    case "mode":
      return session.mode !== intent.mode;
    case "config":
      return session.config?.find(({ id }) => id === intent.id)?.value !== intent.value;
    case "restart":
      return session.status === "dead";
    case "reopen":
      return session.status === "lost";
    case "prompt":
    case "edit":
    case "send_now":
    case "again":
    case "move":
      return true; // the queue shows it
    case "undo":
    case "redo":
    case "keep":
      return true; // the kernel says when it is done
    default:
      return never(intent);
  }
}
