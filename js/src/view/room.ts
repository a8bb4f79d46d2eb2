// The height that the page gives to a panel: below a cell, what is visible of the notebook; in a view of its own
// (an output view, a side bar), all of it. Windows say nothing about that: they contain the host's bars, too.

import { useLayoutEffect } from "preact/hooks";
import { bringPanel } from "./bring";
import { focused, isPartlyInSight } from "./focus";

export interface Room {
  readonly height: number;
  /** The panel is alone in a box with a height of its own, and fills it. */
  readonly fill: boolean;
}

/** Space above and below a panel that is as high as what scrolls. */
const MARGIN_PX = 16;
/** A panel less high is of no use: the page around it scrolls. */
export const LEAST_PX = 150;
/** Below these the parts of the panel save space. */
const SHORT_PX = 440;
const TINY_PX = 240;

/** Keep the panel as high as its room. */
export function useRoom(panel: { readonly current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const el = panel.current;
    if (!el) return;
    const boxes = new Boxes(el);
    let present: Room | null = null;
    let last = new DOMRect();
    const measure = () => {
      if (el.offsetHeight === 0) return; // not in the page, or hidden
      for (const box of boxes.around()) observer?.observe(box);
      const room = boxes.room();
      const changed = room.height !== present?.height || room.fill !== present.fill;
      if (changed) apply(el, room);
      // Somebody who writes in it, or is asked, keeps the whole of it in sight.
      const rect = el.getBoundingClientRect();
      const grown = rect.height > last.height && rect.top === last.top;
      if (present && (changed || grown || rect.width !== last.width) && isInUse(el)) {
        bringPanel(el);
        requestAnimationFrame(() => bringPanel(el)); // the host may arrange its own parts after us
      }
      present = room;
      last = el.getBoundingClientRect();
    };
    const observer = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(measure);
    observer?.observe(el); // it may be drawn before it is put into the page
    measure();
    const controller = new AbortController();
    addEventListener("resize", measure, { signal: controller.signal });
    return () => {
      controller.abort();
      observer?.disconnect();
    };
  }, []);
}

function isInUse(el: HTMLElement): boolean {
  const asks = el.querySelector("[data-acp-question][data-status='open']");
  return (asks !== null || el.contains(focused())) && isPartlyInSight(el);
}

function apply(el: HTMLElement, { height, fill }: Room): void {
  el.style.setProperty("--acp-room", `${height}px`);
  el.dataset.fit = fill ? "fill" : "limit";
  el.dataset.room = height < TINY_PX ? "tiny" : height < SHORT_PX ? "short" : "tall";
}

/** The elements around a panel that cut off what is too high for them. */
class Boxes {
  readonly #panel: HTMLElement;
  /** Whether an element keeps its height, whatever is in it. */
  readonly #firm = new WeakMap<HTMLElement, boolean>();

  constructor(panel: HTMLElement) {
    this.#panel = panel;
  }

  /** From the innermost one to the first that keeps its height. */
  around(): HTMLElement[] {
    const found: HTMLElement[] = [];
    for (let at = this.#panel.parentElement; at && !isPage(at); at = at.parentElement) {
      if (!cuts(at)) continue;
      found.push(at);
      if (this.#isFirm(at)) break;
    }
    return found;
  }

  room(): Room {
    const boxes = this.around();
    const last = boxes.at(-1);
    const box = last && this.#isFirm(last) ? last : null;
    const limits = boxes.map((it) => parseFloat(getComputedStyle(it).maxHeight) || Infinity);
    const fill = box !== null && limits.every((it) => it === Infinity) && isAlone(this.#panel, box);
    const space = fill ? spaceBetween(this.#panel, box) : MARGIN_PX;
    const height = Math.min(box?.clientHeight ?? innerHeight, ...limits) - space;
    return { height: Math.max(LEAST_PX, Math.floor(height)), fill };
  }

  #isFirm(box: HTMLElement): boolean {
    const known = this.#firm.get(box);
    if (known !== undefined || box.clientHeight === 0) return known ?? false;
    const { height } = this.#panel.style;
    const before = box.clientHeight;
    // Nothing in the panel depends on it, and what scrolls keeps its place: the content only overflows.
    this.#panel.style.height = "0";
    const firm = box.clientHeight === before;
    this.#panel.style.height = height;
    this.#firm.set(box, firm);
    return firm;
  }
}

function isPage(el: Element): boolean {
  return el === document.body || el === document.documentElement;
}

function cuts(el: Element): boolean {
  const { overflowY, contain } = getComputedStyle(el);
  return overflowY !== "visible" || /paint|strict|content/.test(contain);
}

/** Whether nothing in the box is above or below the panel. */
function isAlone(panel: HTMLElement, box: HTMLElement): boolean {
  for (let at = panel; at !== box; at = at.parentElement ?? box) {
    const { top, bottom } = at.getBoundingClientRect();
    const others = [...(at.parentElement?.children ?? [])].filter((it) => it !== at);
    const apart = others.some((it) => {
      const rect = it.getBoundingClientRect();
      return rect.height > 0 && (rect.bottom <= top || rect.top >= bottom);
    });
    if (apart) return false;
  }
  return true;
}

const EDGES = ["padding-top", "padding-bottom", "border-top-width", "border-bottom-width"];

/** What the edges of the elements between the box and the panel take. */
function spaceBetween(panel: HTMLElement, box: HTMLElement): number {
  let space = sum(box, EDGES.slice(0, 2));
  for (let at = panel; at !== box; at = at.parentElement ?? box)
    space += sum(at, ["margin-top", "margin-bottom"]) + (at === panel ? 0 : sum(at, EDGES));
  return space;
}

function sum(el: Element, lengths: readonly string[]): number {
  const style = getComputedStyle(el);
  return lengths.reduce((all, it) => all + (parseFloat(style.getPropertyValue(it)) || 0), 0);
}
