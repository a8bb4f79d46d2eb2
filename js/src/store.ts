// The session as this page knows it: the kernel's state, and what only the browser knows (what was
// sent and is not settled, open folds, whether the kernel is there). Decides what a message means and
// what to answer; sends nothing itself, and knows neither the widget's model nor the DOM.

import type { Schedule } from "./frame_schedule";
import { applyPatches, EMPTY } from "./patches";
import { groupTurns, isRunning, terminalsOf, turnId } from "./turns";
import type { Terminals, Turn } from "./turns";
import { never } from "./types";
import type {
  OperationIntent,
  Draft,
  ExamplesMessage,
  ExportedMessage,
  GoingOnMessage,
  FromKernel,
  Intent,
  LocalIntent,
  OfferedMessage,
  PickedMessage,
  Place,
  PreviewedMessage,
  QueueEntry,
  SettingsMessage,
  StaticMessage,
} from "./types";
import type { Prefixes, ResyncIntent, State } from "./types";

/** Names the static output of the whole session; others have the id of their turn. */
export const SESSION = "session";

/** waiting: no state yet. offline: the connection is lost and may come back. gone: the kernel is. */
export type Link = "waiting" | "live" | "offline" | "gone";

/** An intent on its way to the kernel; slow: the kernel has not received it yet. */
export interface Sent {
  readonly intent: Intent;
  readonly slow: boolean;
  /** How far the kernel has got, in files. */
  readonly doing?: { readonly at: number; readonly of: number };
  /** The kernel rejected it: what is wrong, by field. */
  readonly wrong?: { readonly [name: string]: string };
}

/** What views draw. Parts that did not change are the same objects as in the snapshot before. */
export interface Snapshot {
  readonly state: State;
  readonly turns: readonly Turn[];
  readonly terminals: Terminals;
  readonly link: Link;
  /** Prompts that wait for earlier turns to end. */
  readonly queue: readonly QueueEntry[];
  /** Ids of turns that ended before they started. */
  readonly unsent: readonly string[];
  /** When the running turn started, by this page's clock; null if none runs, or if that is not known. */
  readonly since: number | null;
  /** By the question's key, the turn's id, or what is set. */
  readonly sent: ReadonlyMap<string, Sent>;
  readonly folds: ReadonlyMap<string, boolean>;
  readonly refused: string | null;
  /** What the server calls the kernel's folders; null if that is not known. */
  readonly places: Prefixes | null;
  /** The prompt that was refused, so that it is not lost. */
  readonly returned: { readonly text: string } | null;
  /** The newest answer to what an @-name can become. */
  readonly offered: OfferedMessage | null;
  /** The newest answer to what the @-names of the draft will attach. */
  readonly previewed: PreviewedMessage | null;
  /** The newest prompts that the kernel suggests. */
  readonly examples: ExamplesMessage | null;
  /** The newest part of an export. */
  readonly exported: ExportedMessage | null;
  /** The newest answers to what the picker asked, by their `rid`. */
  readonly picked: ReadonlyMap<string, PickedMessage>;
  /** The settings that are the user's; null until the kernel has sent them. */
  readonly settings: SettingsMessage | null;
  /** The earlier conversation of the panel's cell; null until the kernel has said. */
  readonly goingOn: GoingOnMessage | null;
  /** Grows when the static output changes without a change of the state. */
  readonly bundles: number;
  /** Grows when the kernel says where widgets are shown. */
  readonly shown: number;
}

/** An idle kernel answers faster than this. */
export const SLOW_MS = 2000;
/** An agent may accept a setting without confirming it: then it stops showing as pending. */
export const SETTING_MS = 10_000;
/** Longer than an operation on many files takes; normally the kernel reports the end. */
export const OPERATION_MS = 60_000;
/** A resync is requested once, and again only after this long without any message. */
export const ASK_AGAIN_MS = 5000;

/** Answers kept for the picker: more than it can be waiting for at once. */
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
    previewed: null,
    examples: null,
    exported: null,
    picked: new Map(),
    settings: null,
    goingOn: null,
    bundles: 0,
    shown: 0,
  };
  #have: number | null = null;
  #askedAt: number | null = null;
  #outputs = new Map<string, StaticMessage>();
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

  /** A turn that we see start, starts now; for others the kernel sends how long they have been running. */
  #since({ since, turns: before }: Snapshot, turns: readonly Turn[]): number | null {
    const running = turns.find(({ start }) => start && isRunning(start));
    if (!running) return null;
    const known = before.some(({ start }) => start?.key === running.start?.key);
    return known ? since : this.clock.now();
  }

  /** The prompt being written. Not part of the snapshot: only the composer shows it. */
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

  /** The static output that the kernel made for a part of the conversation, by its name, or for the "session". */
  staticOutput(name: string): StaticMessage | undefined {
    return this.#outputs.get(name);
  }

  /** Which widget shows which part in which cell. */
  places(): Place[] {
    return [...this.#outputs.values()].flatMap(({ turn, places }) =>
      places.map(([model, cell]) => ({ model, cell, turn: turn === SESSION ? null : turn })),
    );
  }

  /** Called once per frame in which something changed. */
  subscribe(listener: (snapshot: Snapshot) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  // ---- from the kernel

  /** Apply a message; returns the answer to send, if there is one. */
  receive(message: FromKernel): ResyncIntent | null {
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
        this.#keepOutput(message);
        return this.#numbered(message.seq);
      case "now": {
        const { queue, unsent, elapsed } = message;
        const since = elapsed === null ? null : this.clock.now() - elapsed * 1000;
        void this.snapshot; // so that the turn it is about counts as seen
        const sent = new Map(
          [...this.#snapshot.sent].filter(([, it]) => !QUEUEING.has(it.intent.t)),
        );
        this.#change({ queue, unsent, since, sent });
        return null;
      }
      case "settings": {
        const open = [...this.#snapshot.sent].filter(([, it]) => !SETTINGS.has(it.intent.t));
        this.#change({ settings: message, sent: new Map(open) });
        return null;
      }
      case "going_on":
        this.#change({ goingOn: message, sent: without(this.#snapshot.sent, "go_on") });
        return null;
      case "places":
        this.#change({ places: message.prefixes });
        return null;
      case "invalid": {
        const { elicitation: key, errors: wrong } = message;
        const before = this.#snapshot.sent.get(key);
        if (before)
          this.#change({
            sent: withEntry(this.#snapshot.sent, key, { ...before, slow: false, wrong }),
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
        // The message does not say which: enable all buttons; the kernel still accepts only the first answer.
        this.#change({ refused: message.what, sent: new Map() });
        if (message.prompt !== undefined) this.#change({ returned: { text: message.prompt } });
        return null;
      case "offered":
        this.#change({ offered: message });
        return null;
      case "previewed":
        this.#change({ previewed: message });
        return null;
      case "examples":
        this.#change({ examples: message });
        return null;
      case "exported":
        this.#change({ exported: message });
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

  /** A message that does not change the state, but must not be missed. */
  #numbered(seq: number): ResyncIntent | null {
    if (this.#have === null || this.#askedAt !== null) return null; // a state is on its way
    if (seq !== this.#have + 1) return this.#ask();
    this.#have = seq;
    return null;
  }

  #patches(seq: number, patches: Parameters<typeof applyPatches>[1]): ResyncIntent | null {
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

  #beat(seq: number): ResyncIntent | null {
    if (this.#have === null || this.#askedAt !== null) {
      const since = this.clock.now() - (this.#askedAt ?? -Infinity);
      return since > ASK_AGAIN_MS ? this.#ask() : null;
    }
    return seq > this.#have ? this.#ask() : null;
  }

  #ask(): ResyncIntent {
    this.#askedAt = this.clock.now();
    return { t: "resync", have: this.have };
  }

  #keepOutput(output: StaticMessage): void {
    const before = this.#outputs.get(output.turn);
    this.#outputs.set(output.turn, output);
    const isNew = !before || JSON.stringify(before.places) !== JSON.stringify(output.places);
    if (isNew) this.#change({ shown: this.#snapshot.shown + 1 });
    if (before && JSON.stringify(before.bundle) !== JSON.stringify(output.bundle)) {
      this.#change({ bundles: this.#snapshot.bundles + 1 });
    }
  }

  // ---- from this page

  /** A state was requested (by a hello): patches before it are not for us. */
  expectState(): void {
    this.#askedAt = this.clock.now();
  }

  setLink(link: Link): void {
    // A kernel that is gone does not come back; a new one does not know this session.
    if (this.link !== "gone" && this.link !== link) this.#change({ link });
  }

  /** An intent was sent: it is pending until the state shows its effect. */
  sending(intent: Intent): void {
    const key = sentKey(intent);
    this.#change({
      sent: withEntry(this.#snapshot.sent, key, { intent, slow: false }),
      refused: null,
    });
    this.clock.after(SLOW_MS, () => {
      const still = this.#snapshot.sent.get(key);
      if (still?.intent !== intent || still.wrong || still.doing || this.link !== "live") return;
      this.#change({ sent: withEntry(this.#snapshot.sent, key, { intent, slow: true }) });
    });
    if (intent.t === "mode" || intent.t === "config" || intent.t === "tools") {
      this.clock.after(SETTING_MS, () => this.#forget(key, intent));
    }
    if (intent.t === "undo" || intent.t === "redo" || intent.t === "keep") {
      this.#forgetOperation(key);
    }
  }

  #doing(intent: OperationIntent, doing: NonNullable<Sent["doing"]>): void {
    const key = sentKey(intent);
    const before = this.#snapshot.sent.get(key);
    if (!before) return; // requested by another page
    this.#change({ sent: withEntry(this.#snapshot.sent, key, { ...before, slow: false, doing }) });
    this.#forgetOperation(key);
  }

  /** Unless there is progress until then. */
  #forgetOperation(key: string): void {
    const last = this.#snapshot.sent.get(key);
    this.clock.after(OPERATION_MS, () => {
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
        this.#change({ folds: withEntry(this.#snapshot.folds, intent.key, intent.open) });
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

/** The kernel answers these by sending its queue. */
const QUEUEING: ReadonlySet<string> = new Set(["prompt", "again", "edit", "send_now", "move"]);

/** The kernel answers these by sending its settings. */
const SETTINGS: ReadonlySet<string> = new Set(["permissions", "revoke", "checkpoints"]);

function withEntry<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> {
  return new Map(map).set(key, value);
}

function without<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  return map.has(key) ? new Map([...map].filter(([other]) => other !== key)) : map;
}

/** The key of a pending intent. */
export function sentKey(intent: Intent): string {
  switch (intent.t) {
    case "answer":
      return intent.question;
    case "elicit":
      return intent.elicitation;
    case "cancel":
      return intent.turn ?? intent.t;
    case "edit":
    case "send_now":
    case "again":
    case "move":
      return intent.turn;
    case "revoke":
      return `revoke:${intent.grant}`;
    case "permissions":
    case "checkpoints":
    case "mode":
    case "tools":
    case "restart":
    case "reopen":
    case "prompt":
    case "go_on":
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
    case "tools":
      return session.kernel_tools !== intent.on;
    case "config":
      return session.config?.find(({ id }) => id === intent.id)?.value !== intent.value;
    case "restart":
      return session.status === "dead" || session.status === "disconnected";
    case "reopen":
      return session.status === "lost";
    case "prompt":
    case "edit":
    case "send_now":
    case "again":
    case "move":
    case "go_on":
      return true; // the queue or the offer shows it
    case "permissions":
    case "revoke":
    case "checkpoints":
      return true; // the settings show it
    case "undo":
    case "redo":
    case "keep":
      return true; // the kernel says when it is done
    default:
      return never(intent);
  }
}
