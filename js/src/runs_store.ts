// The table of a fan-out as this page has it: rows and progress from the kernel, and what is open. Knows no widget.

import type { Schedule } from "./frame_schedule";
import { RUNS } from "./static";
import type {
  Bundle,
  FromRuns,
  OperationIntent,
  Place,
  Progress,
  RunsSnapshot,
  TableRow,
} from "./types";

/** The states of a run that has begun and not ended (core/fan_out/rows.py). */
const ACTIVE: ReadonlySet<string> = new Set(["preparing", "running", "scoring"]);
const FINAL: readonly string[] = ["done", "failed", "cancelled", "lost", "skipped"];

export function endedOf({ counts }: Progress): number {
  return FINAL.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}

export class RunsStore {
  #snapshot: RunsSnapshot = {
    rows: [],
    progress: null,
    details: new Map(),
    applying: new Map(),
    refused: new Map(),
    since: new Map(),
    link: "waiting",
  };
  #have = 0;
  #bundle: Bundle | null = null;
  #places: readonly Place[] = [];
  #open: ReadonlySet<number> = new Set();
  #listeners = new Set<() => void>();

  constructor(
    private readonly schedule: Schedule,
    private readonly now: () => number = Date.now,
  ) {}

  get snapshot(): RunsSnapshot {
    return this.#snapshot;
  }

  /** The number of the newest message, without a gap before it. */
  get have(): number {
    return this.#have;
  }

  /** What the file keeps; null: the kernel has not sent it. */
  get bundle(): Bundle | null {
    return this.#bundle;
  }

  get places(): readonly Place[] {
    return this.#places;
  }

  get isOver(): boolean {
    const { progress } = this.#snapshot;
    return progress !== null && endedOf(progress) === progress.total;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Take a message; false: one before it was lost. */
  receive(message: FromRuns): boolean {
    switch (message.t) {
      case "table": {
        this.#have = message.seq;
        const { rows, progress } = message;
        // The answer to a click may be among the messages that were lost.
        this.#change({
          rows,
          progress,
          since: this.#since(rows),
          link: "live",
          applying: new Map(),
        });
        return true;
      }
      case "rows": {
        if (message.seq <= this.#have) return true;
        if (message.seq !== this.#have + 1) return false;
        this.#have = message.seq;
        const rows = [...this.#snapshot.rows];
        for (const row of message.rows) rows[row.index] = row;
        const since = this.#since(message.rows, this.#snapshot.since);
        this.#change({ rows, since, progress: message.progress });
        return true;
      }
      case "details":
        if (this.#open.has(message.run))
          this.#change({
            details: new Map(this.#snapshot.details).set(message.run, message),
          });
        return true;
      case "apply_ended": {
        const applying = new Map(this.#snapshot.applying);
        applying.delete(message.run);
        const refused = new Map(this.#snapshot.refused);
        if (message.error !== undefined) refused.set(message.run, message.error);
        this.#change({ applying, refused });
        return true;
      }
      case "table_static":
        this.#bundle = message.bundle;
        this.#places = message.places.map(([model, cell]) => ({ model, cell, turn: RUNS }));
        this.#change({});
        return true;
    }
  }

  /** A click has asked for it; the kernel will say how it ended. */
  setApplying(run: number, operation: OperationIntent | null): void {
    const refused = new Map(this.#snapshot.refused);
    refused.delete(run);
    this.#change({ applying: new Map(this.#snapshot.applying).set(run, operation), refused });
  }

  setLink(link: RunsSnapshot["link"]): void {
    if (this.#snapshot.link !== "gone") this.#change({ link });
  }

  /** The open rows of all views; what closed ones showed is forgotten. */
  setOpen(open: ReadonlySet<number>): void {
    this.#open = open;
    const kept = [...this.#snapshot.details].filter(([run]) => open.has(run));
    this.#change({ details: new Map(kept) });
  }

  #since(rows: readonly TableRow[], before?: ReadonlyMap<number, number>) {
    const since = new Map(before);
    for (const { index, state, seconds } of rows)
      if (ACTIVE.has(state)) since.set(index, this.now() - (seconds ?? 0) * 1000);
      else since.delete(index);
    return since;
  }

  #change(fields: Partial<RunsSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...fields };
    this.schedule(() => this.#listeners.forEach((listener) => listener()));
  }
}
