// Decides where the panel of a session is: below its cell, or in the side panel. Both draw from the session's store,
// which has drafts and folds; the place in the conversation goes along.

import { shell } from "../../src/shell";
import type { Draw, Mount, PageHost, PageSession } from "../../src/shell";
import { button, element } from "./dom";
import { Listeners } from "./listeners";

const KEY = "acp_notebook.docked";
/** Sessions that are remembered for reloaded pages. */
const KEPT = 50;

/** A view is in its cell by then; one in a window of its own never is. */
const FRAMES = 120;

/** A panel below a cell. */
interface CellView {
  readonly session: string;
  readonly el: HTMLElement;
  readonly draw: Draw;
  /** Ends what is drawn now. */
  drawn: AbortController | null;
}

export class Dock {
  readonly changed = new Listeners();
  readonly #docked = new Set<string>(stored());
  readonly #views = new Set<CellView>();
  /** The cells whose panel was moved to the side: when one runs again, so is its new session. */
  readonly #cells = new WeakSet<Element>();
  /** Where the reader was in each conversation; null: at its end. */
  readonly #scrolled = new Map<string, number | null>();

  constructor() {
    shell().panel = (session, el, signal, draw) => this.#place(session, el, signal, draw);
  }

  has(session: string): boolean {
    return this.#docked.has(session);
  }

  /** Move the panel to the side. */
  add(session: string): void {
    this.#move(session, () => this.#docked.add(session));
  }

  /** Move it below its cell again. */
  remove(session: string): void {
    const cell = this.cellOf(session);
    if (cell) this.#cells.delete(cell);
    this.#move(session, () => this.#docked.delete(session));
  }

  /** The cell of a session, if it shows its panel. */
  cellOf(session: string): Element | null {
    const view = [...this.#views].find((it) => it.session === session);
    return view?.el.closest(".jp-Cell") ?? null;
  }

  /** Draw a session in the side panel, where the reader was. */
  drawAside(session: PageSession, el: HTMLElement, signal: AbortSignal): void {
    session.mount(null, el, signal, session.id, widgets, true);
    this.#comeBack(session.id, el);
  }

  /** The side panel is about to show something else: remember where the reader was. */
  leaving(session: string, el: HTMLElement): void {
    const scroll = el.querySelector(".acp-scroll");
    if (!scroll) return;
    const { scrollTop, scrollHeight, clientHeight } = scroll;
    const atEnd = scrollHeight - scrollTop - clientHeight < 24;
    this.#scrolled.set(session, atEnd ? null : scrollTop);
  }

  #move(session: string, change: () => void): void {
    for (const view of this.#views)
      if (view.session === session && view.drawn) this.leaving(session, view.el);
    change();
    store([...this.#docked].slice(-KEPT));
    this.changed.tell(); // the side panel first: the new place draws what the old one has left
    for (const view of this.#views) if (view.session === session) this.#update(view);
  }

  #place(session: string, el: HTMLElement, signal: AbortSignal, draw: Draw): void {
    const view: CellView = { session, el, draw, drawn: null };
    this.#views.add(view);
    signal.addEventListener("abort", () => {
      view.drawn?.abort();
      this.#views.delete(view);
      this.changed.tell();
    });
    this.#update(view);
    this.#settle(view, signal);
    this.changed.tell();
  }

  /** A view is drawn before it is in its cell. Then: if its panel was in the side panel before, it is so again. */
  #settle(view: CellView, signal: AbortSignal, frames = FRAMES): void {
    if (signal.aborted || frames === 0) return;
    const cell = view.el.closest(".jp-Cell");
    if (!cell) return void requestAnimationFrame(() => this.#settle(view, signal, frames - 1));
    if (this.has(view.session)) this.#cells.add(cell);
    else if (this.#cells.has(cell)) this.add(view.session);
  }

  #update(view: CellView): void {
    const { session, el } = view;
    if (this.has(session)) {
      const cell = el.closest(".jp-Cell");
      if (cell) this.#cells.add(cell);
      view.drawn?.abort();
      view.drawn = null;
      const back = button("Show it here", () => this.remove(session), "to-cell");
      const text = "This conversation is in the side panel. The notebook keeps it here. ";
      el.replaceChildren(element("div", { class: "acp-lab-elsewhere" }, text, back));
    } else if (!view.drawn) {
      el.replaceChildren();
      view.drawn = new AbortController();
      view.draw(el, view.drawn.signal);
      this.#comeBack(session, el);
    }
  }

  /** A panel begins at its end, and is as high as its room in the next frame. */
  #comeBack(session: string, el: HTMLElement): void {
    const top = this.#scrolled.get(session) ?? null;
    if (top === null) return;
    const scroll = () => el.querySelector(".acp-scroll")?.scrollTo({ top, behavior: "instant" });
    requestAnimationFrame(() => requestAnimationFrame(scroll));
  }
}

/** In a cell, anywidget gives a view access to other widgets; in the side panel, we do. */
export const widgets = {
  getWidget(ref: string) {
    const session = shell().sessions.get(ref.replace(/^anywidget:/, ""));
    if (!session) return Promise.reject(new Error("timed out: the page has no such session yet"));
    const mount: Mount = (turn, el, signal, modelId) =>
      session.mount(turn, el, signal, modelId, widgets, true);
    return Promise.resolve({ exports: { mount } });
  },
} as PageHost;

function stored(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.map(String) : [];
  } catch {
    return [];
  }
}

function store(docked: string[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(docked));
  } catch {
    // Without storage, a reloaded page shows them below their cells.
  }
}
