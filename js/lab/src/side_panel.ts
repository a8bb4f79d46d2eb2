// The side panel: shows a session of the notebook that the user works in, or what can be done instead. What is in a
// session's panel, its own widget draws.

import type { PageHost, PageSession } from "../../src/shell";
import type { Dock } from "./dock";
import { button, element } from "./dom";
import type { HostWidget, NotebookPanel, WidgetsModule } from "./host";
import { cellFor, KernelProblem, offerAgents } from "./kernel";
import type { Offer } from "./kernel";
import { sessionCell } from "./session_cell";
import type { SessionCell } from "./session_cell";
import { isLive, nameOf } from "./sessions";
import type { Sessions } from "./sessions";
import { keepWidgetOut } from "./transcripts";

/** What the body of the panel shows; equal ones are not drawn again. */
type Shown =
  | { readonly what: "none" | "start" }
  | { readonly what: "session" | "in-cell"; readonly session: PageSession; readonly only: boolean }
  | { readonly what: "picker"; readonly offer: Offer; readonly started: (id: string) => void }
  | { readonly what: "waiting" }
  | { readonly what: "problem"; readonly problem: KernelProblem };

export class SidePanel {
  readonly widget: HostWidget;
  readonly #sessions: Sessions;
  readonly #dock: Dock;
  readonly #bar = element("div", { class: "acp-lab-bar" });
  readonly #notes = element("div", { class: "acp-lab-notes", role: "status" });
  readonly #body = element("div", { class: "acp-lab-body" });
  /** The session that the user has chosen, by notebook. */
  readonly #chosen = new WeakMap<NotebookPanel, { readonly id: string; readonly live: boolean }>();
  /** What is going on instead of a session, by notebook. */
  readonly #starting = new WeakMap<NotebookPanel, Shown>();
  /** Sessions for which a cell is being added (""), or why that failed. */
  readonly #keeping = new WeakMap<PageSession, string>();
  /** What the bar and the notes were made from. */
  readonly #made = new WeakMap<HTMLElement, readonly unknown[]>();
  #shown: Shown | null = null;
  #drawn = new AbortController();

  constructor(Widget: WidgetsModule["Widget"], sessions: Sessions, dock: Dock) {
    this.#sessions = sessions;
    this.#dock = dock;
    const node = element("div", { class: "acp-lab-side" }, this.#bar, this.#notes, this.#body);
    this.widget = new Widget({ node });
    this.widget.id = "acp-notebook-side";
    this.widget.title.caption = "Agents";
    this.widget.title.iconClass = "acp-lab-icon jp-SideBar-tabIcon";
    node.setAttribute("role", "region");
    node.setAttribute("aria-label", "Agents");
    sessions.changed.add(() => this.update());
    dock.changed.add(() => this.update());
    this.update();
  }

  /** The session that is meant: the chosen one, else the newest that is alive, else the newest. */
  get session(): PageSession | null {
    const { notebook, all } = this.#sessions;
    const chosen = notebook && this.#chosen.get(notebook);
    const found = all.find(({ id }) => id === chosen?.id);
    const ended = found && chosen?.live && !isLive(found); // since it was chosen
    if (found && !ended) return found;
    return all.filter(isLive).at(-1) ?? found ?? all.at(-1) ?? null;
  }

  /** Offer agents for the notebook. Resolves with the session that was started; null if none was. */
  async start(): Promise<PageSession | null> {
    const { notebook } = this.#sessions;
    if (!notebook) return null;
    const waiting: Shown = { what: "waiting" };
    const left = () => this.#starting.get(notebook) !== waiting;
    this.#show(notebook, waiting);
    try {
      const offer = await offerAgents(notebook.context);
      await this.#sessions.picker(offer.model);
      if (left()) return null;
      return await new Promise((resolve) => {
        const started = (id: string) => resolve(this.#take(notebook, offer, id));
        this.#show(notebook, { what: "picker", offer, started });
      });
    } catch (error) {
      const problem =
        error instanceof KernelProblem
          ? error
          : new KernelProblem("The page could not load the list of agents in time. Try again.");
      if (!left()) this.#show(notebook, { what: "problem", problem });
      return null;
    }
  }

  /** A session was started here: it stays here, and gets a cell that keeps it in the file. */
  async #take(notebook: NotebookPanel, offer: Offer, id: string): Promise<PageSession> {
    this.#dock.add(id);
    const session = await this.#sessions.session(id);
    const picker = await this.#sessions.picker(offer.model);
    addCell(notebook, sessionCell(offer.cell, picker.source(), id));
    this.#chosen.set(notebook, { id, live: true });
    this.#show(notebook, null);
    return session;
  }

  /** Add the cell of a session that has none any more. */
  async #keep(notebook: NotebookPanel, session: PageSession): Promise<void> {
    const { id } = session;
    this.#keeping.set(session, "");
    this.#dock.add(id);
    this.update();
    try {
      const { cell, source } = await cellFor(notebook.context, id);
      addCell(notebook, sessionCell(cell, source, id));
      this.#keeping.delete(session);
    } catch (error) {
      this.#keeping.set(session, ` ${(error as Error).message}`);
    }
    this.update();
  }

  #show(notebook: NotebookPanel, shown: Shown | null): void {
    if (shown) this.#starting.set(notebook, shown);
    else this.#starting.delete(notebook);
    this.update();
  }

  choose(session: PageSession): void {
    const { notebook } = this.#sessions;
    if (!notebook) return;
    this.#chosen.set(notebook, { id: session.id, live: isLive(session) });
    this.#show(notebook, null);
  }

  update(): void {
    const next = this.#next();
    if (!isSame(next, this.#shown)) {
      if (this.#shown?.what === "session") this.#dock.leaving(this.#shown.session.id, this.#body);
      this.#drawn.abort();
      this.#drawn = new AbortController();
      this.#body.replaceChildren();
      this.#shown = next;
      this.#draw(next);
    }
    this.#drawBar(next);
  }

  #next(): Shown {
    const { notebook, all } = this.#sessions;
    if (!notebook) return { what: "none" };
    const starting = this.#starting.get(notebook);
    if (starting) return starting;
    const { session } = this;
    if (!session) return { what: "start" };
    const aside = this.#dock.has(session.id) || !isKept(session, notebook);
    const what = aside ? "session" : "in-cell";
    return { what, session, only: all.length === 1 };
  }

  #draw(shown: Shown): void {
    const { signal } = this.#drawn;
    const say = (...parts: (Node | string)[]) =>
      this.#body.append(element("div", { class: "acp-lab-empty" }, ...parts));
    const start = () => button("Start an agent", () => void this.start(), "start");
    switch (shown.what) {
      case "none":
        return say(element("p", {}, "Open a notebook to work with an agent."));
      case "start":
        return say(
          element("p", {}, "No agent works in this notebook yet."),
          start(),
          element("p", { class: "acp-lab-quiet" }, KEEPS),
        );
      case "waiting":
        return say(element("p", {}, WAITING));
      case "problem":
        return say(...problemParts(shown.problem), start());
      case "session":
        return this.#dock.drawAside(shown.session, this.#body, signal);
      case "in-cell":
        return say(
          element("p", {}, `${nameOf(shown.session)} is below its cell.`),
          button("Move it here", () => this.#dock.add(shown.session.id), "to-side"),
          button("Go to the cell", () => this.reveal(shown.session), "reveal"),
        );
      case "picker":
        void this.#drawPicker(shown.offer.model, shown.started, signal);
    }
  }

  async #drawPicker(
    model: string,
    started: (id: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const picker = await this.#sessions.picker(model);
    if (signal.aborted) return;
    // When an agent was started, the picker asks for its session's widget, to show it in its place.
    const page = {
      getWidget: (ref: string) =>
        Promise.resolve({ exports: { mount: () => started(ref.replace(/^anywidget:/, "")) } }),
    } as unknown as PageHost;
    picker.draw(this.#body, signal, page);
  }

  #drawBar(shown: Shown): void {
    const { all, notebook } = this.#sessions;
    const { session } = this;
    const parts: HTMLElement[] = [];
    if (all.length > 1 && session) parts.push(this.#select(all, session));
    const space = element("span", { class: "acp-lab-space" });
    if (shown.what === "session")
      parts.push(
        space,
        button("Show in its cell", () => this.#toCell(shown.session), "to-cell"),
      );
    const starting = shown.what === "picker" || shown.what === "waiting";
    if (notebook && session && !starting)
      parts.push(button("New agent", () => void this.start(), "start"));
    if (notebook && session && starting)
      parts.push(
        space,
        button("Back", () => this.#show(notebook, null), "back"),
      );
    this.#redraw(this.#bar, parts, [notebook, session, ...all]);
    this.#drawNotes(shown);
  }

  /** Only what differs: a list that is open, the focus and a click that has begun would be lost. */
  #redraw(el: HTMLElement, parts: readonly HTMLElement[], from: readonly unknown[]): void {
    const next = el.cloneNode() as HTMLElement;
    next.append(...parts);
    const before = this.#made.get(el);
    const same = before?.length === from.length && from.every((it, at) => it === before[at]);
    if (same && next.isEqualNode(el)) return;
    this.#made.set(el, from);
    el.replaceChildren(...parts);
  }

  /** What the user should know about the session as a whole. */
  #drawNotes(shown: Shown): void {
    const { notebook } = this.#sessions;
    const notes: HTMLElement[] = [];
    if (notebook && shown.what === "session") {
      const { session } = shown;
      if (session.store.snapshot.link === "gone")
        notes.push(
          element(
            "p",
            {},
            GONE,
            button("Go to the cell", () => this.reveal(session)),
          ),
        );
      else if (!isKept(session, notebook) && isLive(session)) {
        const keep = button("Keep it", () => void this.#keep(notebook, session), "keep");
        const problem = this.#keeping.get(session);
        keep.toggleAttribute("disabled", problem === "");
        notes.push(element("p", {}, UNKEPT, keep, problem ?? null));
      }
    }
    const from = shown.what === "session" ? shown.session : null;
    this.#redraw(this.#notes, notes, [notebook, from]);
  }

  #select(all: readonly PageSession[], current: PageSession): HTMLElement {
    const options = all.map((it, at) =>
      element(
        "option",
        { value: it.id, ...(it === current ? { selected: "" } : {}) },
        `${at + 1}. ${nameOf(it)}`,
      ),
    );
    const select = element(
      "select",
      { class: "acp-lab-select", "aria-label": "Session" },
      ...options,
    );
    select.addEventListener("change", () => {
      const chosen = all.find(({ id }) => id === select.value);
      if (chosen) this.choose(chosen);
    });
    return select;
  }

  #toCell(session: PageSession): void {
    this.#dock.remove(session.id);
    this.reveal(session);
  }

  /** Scroll to the cell that shows the session. */
  reveal(session: PageSession): void {
    const { notebook } = this.#sessions;
    const cell = this.#dock.cellOf(session.id);
    const at = notebook?.content.widgets.findIndex(({ node }) => node === cell) ?? -1;
    if (!notebook || at < 0) return;
    notebook.content.activeCellIndex = at;
    void notebook.content.scrollToItem?.(at);
    cell?.scrollIntoView({ block: "nearest" });
  }
}

function addCell({ context }: NotebookPanel, cell: SessionCell): void {
  const { sharedModel, collaborative } = context.model as typeof context.model & {
    collaborative?: boolean;
  };
  if (collaborative) cell.outputs.forEach(keepWidgetOut);
  if (sharedModel.cells.some(({ id }) => id === cell["id"])) return;
  sharedModel.insertCell(sharedModel.cells.length, cell);
}

const WAITING = "Waiting for the kernel. It answers when no cell runs.";
const KEEPS =
  "The conversation stays in the notebook: a cell at its end keeps it, and shows it wherever the file is read.";
const GONE = "The kernel that ran this agent is gone. Run the session's cell to continue. ";
const UNKEPT = "No cell of this notebook shows this conversation: the file will not have it. ";

/** Whether a cell of the notebook shows the session, so that the file has it. */
function isKept({ store }: PageSession, { context }: NotebookPanel): boolean {
  const ids = new Set(context.model.sharedModel.cells.map(({ id }) => id));
  return store.places().some(({ turn, cell }) => turn === null && ids.has(cell));
}

function problemParts({ message, command }: KernelProblem): HTMLElement[] {
  const said = element("p", { role: "alert" }, message);
  return command === null ? [said] : [said, element("pre", {}, command)];
}

function isSame(a: Shown, b: Shown | null): boolean {
  if (a === b) return true;
  if (a.what !== b?.what) return false;
  if ("session" in a && "session" in b) return a.session === b.session;
  return a.what === "none" || a.what === "start" || a.what === "waiting";
}
