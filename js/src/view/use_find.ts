// The search in the conversation: what is searched for, the hits, and the one that is shown.

import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Snapshot } from "../store";
import type { Emit } from "../types";
import { hitsIn, MOST_HITS, patternOf, STEP_MS } from "./find";
import type { Hit } from "./find";
import { mark, unmark } from "./marks";
import type { Target } from "./reveal";

/** A search begins when nothing was typed for this long. */
const TYPING_MS = 120;

/** While the conversation grows it is searched again this long after each search. */
const CHANGED_MS = 500;

/** How long a hit may take to be drawn: far away in a long conversation, many parts are drawn before it. */
const DRAW_MS = 20_000;

export interface Find {
  readonly open: boolean;
  readonly query: string;
  readonly hits: readonly Hit[];
  /** Which of the hits is shown; -1: none. */
  readonly at: number;
  /** The search has not seen the whole conversation yet. */
  readonly searching: boolean;
  /** Where the hit is. */
  readonly target: Target | null;
  start(): void;
  ask(query: string): void;
  /** Shows the next hit, or the previous one. */
  go(by: 1 | -1): void;
  close(): void;
}

export function useFind(
  { turns, terminals }: Snapshot,
  emit: Emit,
  panel: RefObject<HTMLElement | null>,
): Find {
  const [open, setOpen] = useState(false);
  const [query, setQuery] = useState("");
  const [found, setFound] = useState<readonly Hit[]>([]);
  const [searching, setSearching] = useState(false);
  const [at, setAt] = useState(-1);
  const before = useRef<Element | null>(null);
  const pattern = useMemo(() => patternOf(query), [query]);
  const hits = pattern && open ? found : NONE;

  const searcher = useRef<Searcher | null>(null);
  const latest = useRef({ turns, terminals });
  latest.current = { turns, terminals };
  useEffect(() => {
    setSearching(open && pattern !== null);
    if (!open || !pattern) return;
    const made = new Searcher(
      () => hitsIn(latest.current.turns, latest.current.terminals, pattern),
      (all) => {
        setSearching(false);
        setFound(all);
        setAt((was) => Math.min(was < 0 ? all.length - 1 : was, all.length - 1));
      },
    );
    searcher.current = made;
    return () => made.stop();
  }, [open, pattern]);
  useEffect(() => searcher.current?.changed(), [turns, terminals]);

  const hit = hits[at];
  const name = hit && `${hit.item} ${hit.at} ${query}`;
  const target = useMemo(() => hit && { turn: hit.turn, entry: hit.entry }, [name]) ?? null;
  useEffect(() => {
    unmark();
    if (!hit || !pattern) return;
    return whenDrawn(
      () => {
        for (const key of [hit.entry, hit.item])
          if (key !== null) emit({ t: "fold", key, open: true });
      },
      () => {
        const item = panel.current?.querySelector<HTMLElement>(selectorOf(hit));
        return item?.querySelector("[aria-busy='true']") ? null : (item ?? null);
      },
      (item) => mark(item, pattern, hit.at),
    );
  }, [name]);
  useEffect(() => unmark, []);

  return {
    open,
    query,
    hits,
    at: hits.length > 0 ? at : -1,
    searching,
    target,
    start() {
      if (!open) before.current = document.activeElement;
      setOpen(true);
    },
    ask(text) {
      setQuery(text);
      setAt(-1); // the newest hit
    },
    go(by) {
      if (hits.length > 0) setAt((at + by + hits.length) % hits.length);
    },
    close() {
      setOpen(false);
      const [to, own] = [before.current, panel.current];
      if (to instanceof HTMLElement && own?.contains(to)) to.focus({ preventScroll: true });
      else own?.querySelector<HTMLElement>("[data-acp-scroll]")?.focus({ preventScroll: true });
    },
  };
}

const NONE: readonly Hit[] = [];

function selectorOf({ turn, entry, item }: Hit): string {
  return entry === null ? `[data-acp-prompt="${turn}"]` : `[data-acp-item="${item}"]`;
}

/** Gathers the hits a few milliseconds at a time, and again when the conversation has changed meanwhile. */
class Searcher {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #outdated = false;

  constructor(
    private readonly search: () => Generator<Hit | null>,
    private readonly report: (all: Hit[]) => void,
  ) {
    this.#begin(TYPING_MS);
  }

  changed(): void {
    if (this.#timer === undefined) this.#begin(CHANGED_MS);
    else this.#outdated = true;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #begin(after: number): void {
    this.#outdated = false;
    this.#timer = setTimeout(() => this.#step(this.search(), []), after);
  }

  #step(found: Generator<Hit | null>, all: Hit[]): void {
    const until = performance.now() + STEP_MS;
    while (performance.now() < until) {
      const { value, done } = found.next();
      if (value) all.push(value);
      if (done || all.length >= MOST_HITS) return this.#end(all);
    }
    this.#timer = setTimeout(() => this.#step(found, all));
  }

  #end(all: Hit[]): void {
    this.#timer = undefined;
    this.report(all);
    if (this.#outdated) this.#begin(CHANGED_MS);
  }
}

/** Opens what is folded, and calls `then` when the element is there; returns how to stop waiting. */
function whenDrawn(
  open: () => void,
  find: () => HTMLElement | null,
  then: (item: HTMLElement) => void,
): () => void {
  const until = performance.now() + DRAW_MS;
  const look = () => {
    const item = find();
    if (item) then(item);
    else if (performance.now() < until) frame = requestAnimationFrame(look);
  };
  let frame = requestAnimationFrame(() => {
    open();
    frame = requestAnimationFrame(look);
  });
  return () => cancelAnimationFrame(frame);
}
