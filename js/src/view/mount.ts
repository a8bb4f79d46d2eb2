// Mounts a view of the session in an element, until the signal.

import { h, render } from "preact";
import type { Store } from "../store";
import type { Emit } from "../types";
import { HostContext } from "./host";
import type { PanelHost } from "./host";
import { watchMouse } from "./input_guard";
import { PlaceContext } from "./place";
import { BELOW_CELL, IN_PANEL, Places } from "./places";
import { Root } from "./root";

export function mountView(
  store: Store,
  emit: Emit,
  turn: string | null,
  el: HTMLElement,
  signal: AbortSignal,
  host: PanelHost = {},
  inside = false,
  places = new Places(),
): void {
  if (signal.aborted) return;
  const { draft } = store; // the initial one: from now on the field has the current one
  const place = { places, rank: turn === null ? IN_PANEL : BELOW_CELL };
  const draw = () => {
    if (signal.aborted) return; // another listener of this change has ended the view
    const root = h(Root, { turn, snapshot: store.snapshot, draft, emit, inside });
    const placed = h(PlaceContext.Provider, { value: place }, root);
    render(h(HostContext.Provider, { value: host }, placed), el);
  };
  watchMouse(signal);
  const leave = store.subscribe(draw);
  signal.addEventListener("abort", () => {
    leave();
    render(null, el);
  });
  draw();
}
