// Which inputs count as the user's command: what a document that an agent has written would want to count.

import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { App, HostWidget } from "../../lab/src/host";
import { isMeant, watchKeys } from "../../lab/src/user_input";

const ALLOW = "acp-notebook:allow-once";

/** As much of Lumino's registry as is asked. */
class Registry {
  readonly keyBindings = [
    { command: ALLOW, keys: ["Alt G", "A"] },
    { command: "acp-notebook:stop", keys: ["Alt G", "S"] },
  ];
  static keystrokeForKeydownEvent(event: KeyboardEvent): string {
    return (event.altKey ? "Alt " : "") + event.key.toUpperCase();
  }
}

const sides: { node: Element }[] = [];
const app = {
  commands: new Registry(),
  shell: { widgets: (area: string) => (area === "left" ? sides : []) as HostWidget[] },
} as unknown as App;

beforeAll(() => watchKeys(app));

beforeEach(() => {
  sides.length = 0;
  press("Escape");
});

/** As a user's: events that a script makes are not trusted, and do not count. */
function input(event: Event, target: EventTarget): void {
  Object.defineProperty(event, "isTrusted", { value: true });
  target.dispatchEvent(event);
}

function press(key: string, init: KeyboardEventInit = {}, target: EventTarget = document.body) {
  input(new KeyboardEvent("keydown", { key, bubbles: true, composed: true, ...init }), target);
}

function place(html: string): HTMLElement {
  document.body.innerHTML = html;
  return document.body.querySelector<HTMLElement>("[data-here]")!;
}

/** Whether a command counts that the host runs while it handles an input of this element. */
function counts(el: Element, event: Event = new MouseEvent("click", { bubbles: true })): boolean {
  let found = false;
  const run = () => {
    vi.stubGlobal("event", event); // browsers set it while they call a listener
    found = isMeant(app, ALLOW);
    vi.unstubAllGlobals();
  };
  document.addEventListener(event.type, run, { once: true });
  input(event, el);
  return found;
}

// ---- keys

test("the keys of a command count, once, and only for it", () => {
  press("g", { altKey: true });
  press("a");
  expect(isMeant(app, "acp-notebook:stop")).toBe(false);
  expect(isMeant(app, ALLOW)).toBe(true);
  expect(isMeant(app, ALLOW)).toBe(false);
});

test("they count for a moment: JupyterLab runs the command a little later", () => {
  const now = vi.spyOn(performance, "now").mockReturnValue(1000);
  press("g", { altKey: true });
  press("Shift"); // no key of its own
  press("a");
  now.mockReturnValue(5000);
  expect(isMeant(app, ALLOW)).toBe(false);
  now.mockReturnValue(1100);
  expect(isMeant(app, ALLOW)).toBe(true);
  now.mockRestore();
});

test("other keys do not count, nor those that are held down", () => {
  press("a"); // typed into a field, while a document's commands wait for their turn
  expect(isMeant(app, ALLOW)).toBe(false);
  press("Enter"); // closes a dialog that such a command has opened
  expect(isMeant(app, ALLOW)).toBe(false);
  press("g", { altKey: true });
  press("a", { repeat: true });
  expect(isMeant(app, ALLOW)).toBe(false);
});

test("a script cannot press keys, and a command without any input does not count", () => {
  for (const init of [{ key: "g", altKey: true }, { key: "a" }])
    document.body.dispatchEvent(new KeyboardEvent("keydown", { ...init, bubbles: true }));
  expect(isMeant(app, ALLOW)).toBe(false);
});

// ---- clicks

test("a menu of the host counts", () => {
  expect(counts(place('<div class="lm-Widget lm-Menu"><ul><li data-here>x</li></ul></div>'))).toBe(
    true,
  );
});

test("the palette counts, by a click and by Enter", () => {
  const item = place(
    '<div class="jp-ModalCommandPalette"><div class="lm-CommandPalette"><li data-here>x</li></div></div>',
  );
  expect(counts(item)).toBe(true);
  const enter = { key: "Enter", bubbles: true };
  expect(counts(item, new KeyboardEvent("keydown", enter))).toBe(true);
  expect(counts(item, new KeyboardEvent("keydown", { ...enter, repeat: true }))).toBe(false);
});

test("a palette in the side bar counts if it is the host's widget", () => {
  const item = place(
    '<div id="main"><div class="lm-CommandPalette"><li data-here>x</li></div></div>',
  );
  expect(counts(item)).toBe(false);
  sides.push({ node: item.parentElement! });
  expect(counts(item)).toBe(true);
});

const LINK = `data-here data-commandlinker-command="${ALLOW}"`;

test.each([
  `<button class="lm-Menu" ${LINK}>docs</button>`,
  `<div class="lm-Menu"><button ${LINK}>docs</button></div>`,
  `<div class="jp-ModalCommandPalette"><div class="lm-CommandPalette"><button ${LINK}>docs</button></div></div>`,
  `<div class="jp-Toolbar lm-MenuBar jp-Launcher" data-acp-lab="x"><button ${LINK}>docs</button></div>`,
  `<body class="lm-Menu"><button ${LINK}>docs</button></body>`,
])("a document does not count, whatever it calls itself: %s", (html) => {
  for (const around of ["jp-RenderedMarkdown", "jp-OutputArea", "jp-TableOfContents"]) {
    const trap = place(
      `<div id="main" class="jp-LabShell"><div class="${around}">${html}</div></div>`,
    );
    sides.push({ node: trap.closest(`.${around}`)! });
    expect(counts(trap)).toBe(false);
    // Enter and Space on a button become a click of it.
    press("Enter", {}, trap);
    expect(counts(trap)).toBe(false);
    expect(isMeant(app, ALLOW)).toBe(false);
  }
});

test("a document in a shadow tree does not count", () => {
  const host = place('<div id="main"><div data-here></div></div>');
  const root = host.attachShadow({ mode: "open" });
  root.innerHTML = `<div class="lm-Menu"><button ${LINK}>docs</button></div>`;
  const click = new MouseEvent("click", { bubbles: true, composed: true });
  expect(counts(root.querySelector("button")!, click)).toBe(false);
});

test("what waits for something does not count as a later click of the user", async () => {
  const item = place('<div class="lm-Menu"><li data-here>x</li></div>');
  expect(counts(item)).toBe(true);
  await new Promise((resolve) => setTimeout(resolve));
  expect(isMeant(app, ALLOW)).toBe(false);
});
