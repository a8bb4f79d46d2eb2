// Puts a view of the session into an element, until the signal ends it.

import { h, render } from "preact";
import type { Store } from "../store";
import type { Emit } from "../types";
import { Host } from "./code";
import type { TextHost } from "./code";
import { watchMouse } from "./guard";
import { Root } from "./root";

export function mountView(
  store: Store,
  emit: Emit,
  turn: string | null,
  el: HTMLElement,
  signal: AbortSignal,
  host: TextHost = {},
): void {
  if (signal.aborted) return;
  const { draft } = store; // as it was: from here on the field itself knows better
  const draw = () => {
    const root = h(Root, { turn, snapshot: store.snapshot, draft, emit });
    render(h(Host.Provider, { value: host }, root), el);
  };
  watchMouse(signal);
  const leave = store.subscribe(draw);
  signal.addEventListener("abort", () => {
    leave();
    render(null, el);
  });
  draw();
}
