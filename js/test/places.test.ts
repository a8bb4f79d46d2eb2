import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BELOW_CELL, IN_PANEL, Places, placesOf, SETTLE_MS } from "../src/view/places";
import type { Spot } from "../src/view/places";

/** Observes what the test says is in view. */
class Observer {
  static all: Observer[] = [];
  readonly observed = new Set<Element>();

  constructor(private readonly report: (entries: object[]) => void) {
    Observer.all.push(this);
  }

  observe(el: Element): void {
    this.observed.add(el);
  }

  unobserve(el: Element): void {
    this.observed.delete(el);
  }

  static see(el: Element, height: number): void {
    const [intersectionRect, boundingClientRect] = [{ height }, { height: 200 }];
    for (const it of Observer.all)
      if (it.observed.has(el)) it.report([{ target: el, intersectionRect, boundingClientRect }]);
  }
}

beforeEach(() => {
  document.body.replaceChildren();
  Observer.all = [];
  vi.useFakeTimers();
  vi.stubGlobal("IntersectionObserver", Observer);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function element(): HTMLElement {
  return document.body.appendChild(document.createElement("div"));
}

function spot(rank: number, el = element(), box?: () => Element | null) {
  let holds = false;
  const made: Spot = { rank, el, changed: (is) => (holds = is), ...(box ? { box } : {}) };
  return { spot: made, el, holds: () => holds };
}

/** A question below a cell in view, and a panel in view. */
function placed(box?: () => Element | null) {
  const places = new Places();
  const [cell, panel] = [spot(BELOW_CELL, element(), box), spot(IN_PANEL)];
  const leave = places.offer("q", cell.spot);
  places.offer("q", panel.spot);
  Observer.see(cell.el, 200);
  Observer.see(panel.el, 200);
  vi.advanceTimersByTime(SETTLE_MS);
  const held = () => [cell.holds(), panel.holds()];
  return { places, cell, panel, leave, held };
}

test("below its cell and in view, a question is there and not in the panel", () => {
  expect(placed().held()).toEqual([true, false]);
});

test("the first place has it at once, and a better one gets it", () => {
  const places = new Places();
  const [panel, cell] = [spot(IN_PANEL), spot(BELOW_CELL)];
  expect(places.isFree("q")).toBe(true);
  places.offer("q", panel.spot);
  expect([panel.holds(), places.isFree("q")]).toEqual([true, false]);
  places.offer("q", cell.spot);
  Observer.see(cell.el, 200);
  vi.advanceTimersByTime(SETTLE_MS);
  expect([panel.holds(), cell.holds()]).toEqual([false, true]);
});

test("out of view for a while, it is in the panel; back in view, below its cell", () => {
  const { cell, held } = placed();
  Observer.see(cell.el, 0);
  expect(held()).toEqual([true, false]); // perhaps the reader only scrolls past
  vi.advanceTimersByTime(SETTLE_MS);
  expect(held()).toEqual([false, true]);
  Observer.see(cell.el, 40); // too little to answer it there
  vi.advanceTimersByTime(SETTLE_MS);
  expect(held()).toEqual([false, true]);
  Observer.see(cell.el, 120);
  vi.advanceTimersByTime(SETTLE_MS);
  expect(held()).toEqual([true, false]);
});

test("scrolled past quickly, nothing changes", () => {
  const { cell, held } = placed();
  Observer.see(cell.el, 0);
  vi.advanceTimersByTime(SETTLE_MS / 2);
  Observer.see(cell.el, 200);
  vi.advanceTimersByTime(SETTLE_MS);
  expect(held()).toEqual([true, false]);
});

test("with no place in view, it stays where it is", () => {
  const { cell, panel, held } = placed();
  Observer.see(panel.el, 0);
  Observer.see(cell.el, 0);
  vi.advanceTimersByTime(SETTLE_MS);
  expect(held()).toEqual([true, false]);
});

test("where the user types, it stays until they are done", () => {
  const box = element();
  const field = box.appendChild(document.createElement("input"));
  const { cell, held } = placed(() => box);
  field.focus();
  Observer.see(cell.el, 0);
  vi.advanceTimersByTime(10 * SETTLE_MS);
  expect(held()).toEqual([true, false]);
  field.blur();
  vi.advanceTimersByTime(SETTLE_MS);
  expect(held()).toEqual([false, true]);
});

test("a question that only has the focus may move", () => {
  const box = element();
  box.tabIndex = -1;
  box.dataset["acpQuestion"] = "k7";
  const { cell, held } = placed(() => box);
  box.focus();
  Observer.see(cell.el, 0);
  vi.advanceTimersByTime(SETTLE_MS);
  expect(held()).toEqual([false, true]);
});

test("a place that is gone hands it over at once", () => {
  const { leave, held } = placed();
  leave();
  expect(held()[1]).toBe(true);
});

test("where the user wants it, it stays while that is in view", () => {
  const { places, cell, panel, held } = placed();
  places.choose("q", panel.el);
  expect(held()).toEqual([false, true]);
  Observer.see(cell.el, 200);
  vi.advanceTimersByTime(10 * SETTLE_MS);
  expect(held()).toEqual([false, true]);
  Observer.see(panel.el, 0);
  vi.advanceTimersByTime(SETTLE_MS);
  Observer.see(panel.el, 200);
  vi.advanceTimersByTime(SETTLE_MS);
  expect(held()).toEqual([true, false]);
});

test("of two panels, one has it, and it does not wander", () => {
  const places = new Places();
  const [one, two] = [spot(IN_PANEL), spot(IN_PANEL)];
  places.offer("q", one.spot);
  places.offer("q", two.spot);
  for (const { el } of [two, one]) Observer.see(el, 200);
  vi.advanceTimersByTime(SETTLE_MS);
  expect([one.holds(), two.holds()]).toEqual([true, false]);
});

test("of two panels in view, the one in which the user works has it", () => {
  const places = new Places();
  const [first, second] = [spot(IN_PANEL), spot(IN_PANEL)];
  for (const it of [first, second]) it.el.className = "acp-panel";
  const field = second.el.appendChild(document.createElement("textarea"));
  field.focus();
  places.offer("q", first.spot);
  Observer.see(first.el, 200);
  places.offer("q", second.spot);
  Observer.see(second.el, 200);
  vi.advanceTimersByTime(SETTLE_MS);
  expect([first.holds(), second.holds()]).toEqual([false, true]);
  field.blur();
  vi.advanceTimersByTime(SETTLE_MS);
  expect([first.holds(), second.holds()]).toEqual([false, true]);
});

test("a turn is below its cell until that view is gone", () => {
  const places = new Places();
  const told = vi.fn();
  places.watch(told);
  const el = element();
  const gone = places.draw("t1", el);
  expect(places.viewOf("t1")).toBe(el);
  gone();
  expect(places.viewOf("t1")).toBeNull();
  expect(told).toHaveBeenCalledTimes(2);
});

test("a cell that the host takes out of the page counts; an output taken out of its cell does not", () => {
  const places = new Places();
  const cell = element();
  cell.className = "jp-Cell";
  const view = cell.appendChild(document.createElement("div"));
  places.draw("t1", view);
  cell.remove();
  expect(places.viewOf("t1")).toBe(view);
  view.remove();
  expect(places.viewOf("t1")).toBeNull();
});

test("a session has the same places for every copy of the module", () => {
  expect(placesOf("m1")).toBe(placesOf("m1"));
  expect(placesOf("m1")).not.toBe(placesOf("m2"));
});
