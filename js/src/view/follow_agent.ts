// Follows the agent: shows the file or the cell that it works on, if the user wants that.

import type { RefObject } from "preact";
import { useContext, useEffect, useRef } from "preact/hooks";
import { newestTurn } from "../turns";
import type { Turn } from "../turns";
import type { ToolItem } from "../types";
import { HostContext } from "./host";
import { absolute, cellsOf, served } from "./locations";
import { useActivity, usePanel } from "./panel";

/** The name under which the store keeps whether the panel follows. */
export const FOLLOW_FOLD = "follow-agent";

/** Nothing is opened until the user has not typed for this long. */
const TYPING_MS = 3000;

/** A file that opens takes the focus, which is given back for this long. */
const OPENING_MS = 3000;

/** Where the agent works. */
export interface Place {
  /** As the agent names it; null: the notebook that the panel belongs to. */
  readonly path: string | null;
  readonly line: number | undefined;
  readonly cells: readonly string[];
}

/** Where the newest call of the newest turn works; null if that is not known, or the user is asked something. */
export function placeOf(turns: readonly Turn[]): Place | null {
  const turn = newestTurn(turns);
  if (!turn || turn.items.some((it) => it.type === "question" && it.status === "open")) return null;
  for (let at = turn.items.length - 1; at >= 0; at--) {
    const item = turn.items[at];
    const place = item?.type === "tool" ? placeOfCall(item) : null;
    if (place) return place;
  }
  return null;
}

function placeOfCall(tool: ToolItem): Place | null {
  const location = tool.locations.at(-1);
  if (location) return { path: location.path, line: location.line, cells: cellsOf(tool, location) };
  const run = tool.content.find((block) => block.type === "run");
  const cell = run?.cells.at(-1)?.id;
  return cell === undefined ? null : { path: null, line: undefined, cells: [cell] };
}

/** Shows where the agent works, each place once, while `on`. */
export function useFollowAgent(
  on: boolean,
  turns: readonly Turn[],
  panel: RefObject<HTMLElement | null>,
): void {
  const { folder, places } = usePanel();
  const { running } = useActivity();
  const { files } = useContext(HostContext);
  const place = on && files ? placeOf(turns) : null;
  const name = place && JSON.stringify([place.path, place.line, place.cells]);
  const seen = useRef<string | null>(null);
  useEffect(() => {
    if (on) watchKeys();
    if (!running) seen.current = name; // from now on
  }, [on]);
  useEffect(() => {
    if (!place || !files || name === seen.current) return;
    const own = files.notebook();
    const path = place.path === null ? own : served(absolute(place.path, folder), places ?? []);
    if (path === null) return;
    const show = () => {
      const left = lastKey + TYPING_MS - Date.now();
      if (left > 0) return void (timer = setTimeout(show, left));
      seen.current = name;
      if (path !== own) follow(() => files.follow?.(path, place.line));
      else if (panel.current) files.show(place.cells, panel.current);
    };
    let timer = setTimeout(show);
    return () => clearTimeout(timer);
  }, [name, places]);
}

let lastKey = 0;
let watching = false;

/** Notes when the user types, anywhere in the page. */
function watchKeys(): void {
  if (watching) return;
  watching = true;
  addEventListener("keydown", () => (lastKey = Date.now()), { capture: true, passive: true });
}

/** Opens something, and gives the focus back to where it was, unless the user moves it. */
function follow(open: () => void): void {
  const before = document.activeElement;
  const done = new AbortController();
  const { signal } = done;
  const stop = () => done.abort();
  for (const event of ["pointerdown", "keydown"])
    addEventListener(event, stop, { capture: true, passive: true, signal });
  const back = ({ target }: FocusEvent) => {
    if (target !== before && before instanceof HTMLElement && before.isConnected)
      setTimeout(() => !signal.aborted && before.focus({ preventScroll: true }));
  };
  addEventListener("focusin", back, { capture: true, signal });
  setTimeout(stop, OPENING_MS);
  open();
}
