// The place of a view in the page, for its parts.

import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { HostContext } from "./host";
import { IN_PANEL, isRendered, Places } from "./places";

export interface Place {
  readonly places: Places;
  readonly rank: number;
  /** Decided further up: what is in here is shown, and could be since then. */
  readonly held?: { readonly since: number };
}

export const PlaceContext = createContext<Place>({ places: new Places(), rank: IN_PANEL });

interface Refers {
  readonly current: Element | null;
}

/** Whether this place is the one that shows it. `find`: the element whose visibility counts; `box`: what the
    user may be using; `better`: the rank, if not the place's own. `name` is null while there is nothing to show. */
export function useOnce(
  name: string | null,
  find: () => Element | null,
  box?: Refers,
  better?: number,
): { holds: boolean; choose: () => void } {
  const { places, rank: own, held } = useContext(PlaceContext);
  const rank = better ?? own;
  const [holds, setHolds] = useState(() => name !== null && places.isFree(name));
  useLayoutEffect(() => {
    const el = find();
    if (name === null || !el || held) return;
    const used = box ? { box: () => box.current } : {};
    return places.offer(name, { rank, el, ...used, changed: setHolds });
  }, [name, places, held === undefined]);
  const choose = () => {
    const el = find();
    if (name !== null && el) places.choose(name, el);
  };
  return { holds: held !== undefined || (name !== null && holds), choose };
}

/** As `useOnce`, for a question with this key in this box; with the time since when it could be here. */
export function useQuestionPlace(key: string, box: Refers) {
  const { held } = useContext(PlaceContext);
  const [since] = useState(() => performance.now());
  return { ...useOnce(`question:${key}`, () => box.current, box), since: held?.since ?? since };
}

/** Whether one of these questions is shown in this element. */
export function useAsksHere(keys: readonly string[], el: Refers): boolean {
  const { places } = useContext(PlaceContext);
  const [here, setHere] = useState(false);
  const newest = useRef(keys);
  newest.current = keys;
  const look = () =>
    setHere(newest.current.some((it) => places.isIn(`question:${it}`, el.current)));
  useLayoutEffect(look);
  useLayoutEffect(() => places.watch(look), [places]);
  return here;
}

/** The name of another session's turn that asks the user. */
export function askedName({ model, turn_id }: { model?: string; turn_id?: string }): string {
  return `asked:${model}:${turn_id}`;
}

/** Says that this element draws the turn below its cell, or is the panel; null: it draws nothing of the kind. */
export function useDraws(name: string | null, el: Refers): void {
  const { places } = useContext(PlaceContext);
  useLayoutEffect(() => {
    if (name !== null && el.current) return places.draw(name, el.current);
    return undefined;
  }, [name, places]);
}

/** The view in the page that draws it, from this element. */
export function useViewOf(name: string, from: Refers): Element | null {
  const { places } = useContext(PlaceContext);
  const [view, setView] = useState(() => places.viewOf(name));
  const known = useRef(view);
  useLayoutEffect(() => {
    const look = () => {
      const found = places.viewOf(name);
      if (found === known.current) return; // `isRendered` has the browser lay out the page
      // If this one is hidden, all that is around it may be, too: then nothing follows from finding none.
      if (found || from.current === null || isRendered(from.current)) {
        known.current = found;
        setView(found);
      }
    };
    look();
    return places.watch(look);
  }, [places, name]);
  return view;
}

/** How long a view below a cell may take: one whose widget is there, and one of a turn that has just begun. */
const MOUNTS_MS = 1500;
const BEGINS_MS = 500;
/** A prompt of the panel has become a turn by then. */
const SENT_MS = 10_000;

/** Where a turn is drawn: below its cell (the element), here (null), or below its cell any moment now. */
export function useBelow(
  turn: string,
  panel: Refers,
  begins: () => boolean,
): Element | "soon" | null {
  const { places } = useContext(PlaceContext);
  const { expects } = useContext(HostContext);
  const below = useViewOf(turn, panel);
  const [since] = useState(() => performance.now());
  const [begun] = useState(() => begins() && !places.wasPrompted(SENT_MS));
  const [over, setOver] = useState(false);
  const [, redraw] = useState({});
  const limit = expects?.(turn) ? MOUNTS_MS : begun ? BEGINS_MS : 0;
  const left = since + limit - performance.now();
  const soon = below === null && !over && left > 0;
  useEffect(() => {
    if (!soon) return setOver(true); // from now on, what is gone is gone
    const timer = setTimeout(() => redraw({}), left);
    return () => clearTimeout(timer);
  });
  return below ?? (soon ? "soon" : null);
}
