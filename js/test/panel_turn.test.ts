import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Item } from "../src/types";
import type { PanelHost } from "../src/view/host";
import { mountView } from "../src/view/mount";
import { Places } from "../src/view/places";
import { makeStore, message, question, state, turn } from "./helpers";
import { settled, tool } from "./mounted";

beforeEach(() => {
  document.body.replaceChildren();
  vi.stubGlobal("IntersectionObserver", undefined); // then everything is in view
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A panel and a view below a cell, of the same session. */
function page(items: Item[], host: PanelHost = {}) {
  const { store, frames } = makeStore();
  store.receive({ t: "state", seq: 1, state: state(...items) });
  const places = new Places();
  const emit = vi.fn((intent: { t: string }) => {
    if (intent.t === "fold") store.local(intent as never);
    frames.draw();
  });
  const mount = (id: string | null) => {
    const el = document.body.appendChild(document.createElement("div"));
    const controller = new AbortController();
    mountView(store, emit, id, el, controller.signal, host, false, places);
    return { el, close: () => controller.abort() };
  };
  const add = (item: Item) => {
    store.receive({ t: "patches", seq: store.have + 1, patches: [["add", item]] });
    frames.draw();
  };
  return { emit, mount, add };
}

const open = "[data-acp-question][data-status=open]";
const stop = "[data-acp-stop]";

function counts(name: string, ...views: { el: HTMLElement }[]): number[] {
  return views.map(({ el }) => el.querySelectorAll(name).length);
}

test("a hidden panel does not draw what is drawn below its cell", async () => {
  const { mount } = page([turn({ status: "done" }), message("k2", "Fixed.")]);
  const panel = mount(null);
  panel.el.hidden = true;
  Object.defineProperty(Element.prototype, "checkVisibility", {
    configurable: true,
    value(this: Element) {
      return this.closest("[hidden]") === null;
    },
  });
  try {
    const cell = mount("t1");
    await settled();
    expect(counts(".acp-turn", cell, panel)).toEqual([1, 0]);
    cell.el.hidden = true; // the whole notebook is
    mount("t2");
    await settled();
    expect(counts(".acp-turn", panel)).toEqual([0]);
  } finally {
    Reflect.deleteProperty(Element.prototype, "checkVisibility");
  }
});

test("a turn below its cell is a line in the panel, and drawn there when the view is gone", async () => {
  const { mount } = page([turn({ status: "done" }), message("k2", "Fixed.")]);
  const cell = mount("t1");
  const panel = mount(null);
  await settled();
  expect(counts(".acp-turn", cell, panel)).toEqual([1, 0]);
  const line = panel.el.querySelector("[data-acp-turn-line]");
  expect(line?.textContent).toContain("Fix it");
  expect(line?.textContent).toContain("Done");
  cell.close();
  await settled();
  expect(counts("[data-acp-turn-line]", panel)).toEqual([0]);
  expect(panel.el.textContent).toContain("Fixed.");
});

test("the line says how many files changed, and only the first line of the prompt", async () => {
  const file = {
    id: "f1",
    path: "a.py",
    action: "modified",
    added: 1,
    removed: 0,
    state: "applied",
    hunks: [],
  };
  const prompt = [{ type: "text", text: "Fix it\nand test it" }] as const;
  const { mount } = page([
    turn({ status: "done", prompt: [...prompt] }),
    { key: "k3", type: "changes", turn: "k1", files: [file], notes: [] } as never,
  ]);
  mount("t1");
  const panel = mount(null);
  await settled();
  const line = panel.el.querySelector("[data-acp-turn-line]");
  expect(line?.textContent).toContain("1 file changed");
  expect(line?.textContent).not.toContain("and test it");
});

test("the reader unfolds the turn in the panel, and its question stays where it is", async () => {
  const { mount } = page([turn(), question()]);
  const [cell, panel] = [mount("t1"), mount(null)];
  await settled();
  const fold = panel.el.querySelector<HTMLButtonElement>("[data-acp-turn-line] button");
  fold?.click();
  await settled();
  expect(fold?.getAttribute("aria-expanded")).toBe("true");
  expect(counts(".acp-turn", cell, panel)).toEqual([1, 1]);
  expect(counts(open, cell, panel)).toEqual([1, 0]);
});

test("one question and one stop button; where it is not, no key answers it", async () => {
  const { mount, emit } = page([turn(), tool(), question({ tool: "k5" })]);
  const panels = [mount(null), mount(null)] as const;
  await settled();
  expect(counts(open, ...panels)).toEqual([1, 0]);
  expect(counts(stop, ...panels)).toEqual([1, 0]);
  const other = panels[1].el.querySelector("[data-acp-question]");
  const key = new KeyboardEvent("keydown", { key: "1", bubbles: true });
  other?.querySelector("[data-acp-answer-here]")?.dispatchEvent(key);
  const buttons = [...(other?.querySelectorAll<HTMLButtonElement>("[data-acp-option]") ?? [])];
  expect(buttons.map(({ disabled }) => disabled)).toEqual([true, true]);
  for (const button of buttons) button.click();
  expect(emit).not.toHaveBeenCalled();
  other?.querySelector<HTMLButtonElement>("[data-acp-answer-here]")?.click();
  await settled();
  expect(counts(open, ...panels)).toEqual([0, 1]);
});

test("below its cell the turn has its question and its stop button, and the panel has neither", async () => {
  const { mount } = page([turn(), question()]);
  const panel = mount(null);
  const cell = mount("t1");
  await settled();
  expect(counts(open, cell, panel)).toEqual([1, 0]);
  expect(counts(stop, cell, panel)).toEqual([1, 0]);
  cell.close();
  await settled();
  expect(counts(open, panel)).toEqual([1]);
  expect(counts(stop, panel)).toEqual([1]);
});

test("a turn that is about to be drawn below its cell is not drawn in the panel before", async () => {
  vi.useFakeTimers();
  const { mount, add } = page([], { expects: () => false });
  const panel = mount(null);
  await vi.advanceTimersByTimeAsync(100);
  add(turn());
  expect(counts(".acp-turn", panel)).toEqual([0]);
  await vi.advanceTimersByTimeAsync(2000); // no cell has drawn it
  expect(counts(".acp-turn", panel)).toEqual([1]);
});

test("a turn whose widget is in the page is given time to be drawn below its cell", async () => {
  vi.useFakeTimers();
  const { mount } = page([turn({ status: "done" })], { expects: () => true });
  const panel = mount(null);
  expect(counts(".acp-turn", panel)).toEqual([0]);
  const cell = mount("t1");
  await vi.advanceTimersByTimeAsync(5000);
  expect(counts(".acp-turn", cell, panel)).toEqual([1, 0]);
});

test("the line leads to the view below the cell", async () => {
  const reveal = vi.fn();
  const { mount } = page([turn({ status: "done" })], { reveal });
  const cell = mount("t1");
  const panel = mount(null);
  await settled();
  const show = panel.el.querySelector<HTMLButtonElement>("[data-acp-show]");
  show?.click();
  expect(reveal).toHaveBeenCalledWith(cell.el.firstElementChild, show);
});

test("a turn waits for the user when an agent that it has asked does", () => {
  const session = { agent: "kimi", turn: 3, turn_id: "t3", model: "m1", asks: true };
  const run = { type: "run", run_id: "run-1", status: "running", session } as const;
  const content = [{ ...run, code: "", seconds: 0, outputs: [], cells: [], notes: [] }];
  const { mount } = page([turn(), tool({ content: content as never })]);
  const cell = mount("t1");
  expect(cell.el.querySelector(".acp-status")?.textContent).toContain("Waiting for you");
});
