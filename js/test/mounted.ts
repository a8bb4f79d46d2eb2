// A view of a state, drawn, with the hands to change it and to see what it asks for.

import { vi } from "vitest";
import type { PanelHost } from "../src/view/host";
import { mountView } from "../src/view/mount";
import { Places } from "../src/view/places";
import type { Emit, Header, Intent, Item, ToolItem, WirePatch } from "../src/types";
import { makeStore, state } from "./helpers";

export function shown(
  items: Item[],
  id: string | null = "t1",
  session: Partial<Header> = {},
  host: PanelHost = {},
  places = new Places(),
) {
  const made = makeStore();
  const emit = vi.fn<Emit>();
  const controller = new AbortController();
  const el = document.body.appendChild(document.createElement("div"));
  const begin = state(...items);
  made.store.receive({
    t: "state",
    seq: 1,
    state: { ...begin, session: { ...begin.session, ...session } },
  });
  mountView(made.store, emit, id, el, controller.signal, host, undefined, places);
  let seq = 1;
  const patch = (...patches: WirePatch[]) => {
    made.store.receive({ t: "patches", seq: ++seq, patches });
    made.frames.draw();
  };
  const find = <T extends HTMLElement = HTMLElement>(query: string) => el.querySelector<T>(query);
  return { ...made, emit, controller, el, patch, find };
}

const UNTRACKED = new Set([
  "complete",
  "export",
  "preview",
  "examples",
  "sessions",
  "open",
  "delete",
  "agents",
  "start_agent",
  "sign_in",
  "signed_in",
  "sign_out",
  "use_key",
  "settings",
]);

/** As the real one: what is local goes into the store, the rest counts as sent. */
export function wired(made: ReturnType<typeof shown>): void {
  made.emit.mockImplementation((intent) => {
    if (intent.t === "fold" || intent.t === "draft" || intent.t === "dismiss")
      made.store.local(intent);
    else if (!UNTRACKED.has(intent.t)) made.store.sending(intent as Intent);
    made.frames.draw();
  });
}

export function tool(fields: Partial<ToolItem> = {}): ToolItem {
  return {
    key: "k5",
    type: "tool",
    turn: "k1",
    id: "c1",
    title: "Edit sum.py",
    kind: "edit",
    status: "pending",
    content: [],
    locations: [{ path: "sum.py", line: 3 }],
    ...fields,
  };
}

export function press(target: EventTarget | null, key: string, more: KeyboardEventInit = {}) {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  target?.dispatchEvent(event);
  return event;
}

/** A view whose own state changed is drawn in a microtask, and so is what comes of that. */
export async function settled(): Promise<void> {
  for (let step = 0; step < 10; step++) await Promise.resolve();
}
