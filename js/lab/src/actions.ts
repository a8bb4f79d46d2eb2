// What commands, menus and buttons do with the agent of the notebook that the user works in.

import type { PageSession } from "../../src/shell";
import { readCell } from "./cells";
import type { Dock } from "./dock";
import type { App, Cell, NotebookPanel } from "./host";
import { contextOf, FIX, LOOK, promptAbout } from "./prompts";
import { Questions } from "./questions";
import type { Meaning } from "./questions";
import { isLive } from "./sessions";
import type { Sessions } from "./sessions";
import type { SidePanel } from "./side_panel";
import { summaryOf, undoingLastTurn } from "./summary";

/** Tells the user something, for a moment. */
export type Say = (text: string) => void;

/** How often is looked which questions are in view, while one is open. */
const LOOK_MS = 150;
/** A panel is drawn by then. */
const DRAWN_MS = 5000;

/** The palette has closed by then. */
const PALETTE_MS = 50;

const FIELD = ".acp-field textarea";

export class Actions {
  readonly #app: App;
  readonly #sessions: Sessions;
  readonly #side: SidePanel;
  readonly #dock: Dock;
  readonly #say: Say;
  readonly #questions = new Questions();
  #reading = false;
  #looking: ReturnType<typeof setInterval> | null = null;

  constructor(app: App, sessions: Sessions, side: SidePanel, dock: Dock, say: Say) {
    this.#app = app;
    this.#sessions = sessions;
    this.#side = side;
    this.#dock = dock;
    this.#say = say;
    sessions.changed.add(() => this.#lookWhileAsked());
  }

  /** While somebody is asked, know which questions are in view, and since when. */
  #lookWhileAsked(): void {
    const asked = this.#sessions.all.some(({ store }) => summaryOf(store.snapshot).asks);
    if (asked) this.#looking ??= setInterval(() => this.#questions.look(), LOOK_MS);
    else if (this.#looking !== null) {
      clearInterval(this.#looking);
      this.#looking = null;
    }
  }

  get session(): PageSession | null {
    return this.#side.session;
  }

  openSide(): void {
    // Notebook 7.2 would close a panel that is open.
    if (!this.#side.widget.isVisible) this.#app.shell.activateById(this.#side.widget.id);
  }

  /** The session to talk to; if there is none, the user starts one. */
  async #ready(): Promise<PageSession | null> {
    const { session } = this;
    if (session && isLive(session)) return session;
    this.openSide();
    return this.#side.start();
  }

  /** Bring its panel into view, wherever it is; resolves with its field. */
  async #field(session: PageSession): Promise<HTMLTextAreaElement | null> {
    this.#side.choose(session);
    const aside = this.#dock.has(session.id);
    if (aside) this.openSide();
    else this.#side.reveal(session);
    const root = () => (aside ? this.#side.widget.node : this.#dock.cellOf(session.id));
    const limit = performance.now() + DRAWN_MS;
    for (;;) {
      const field = root()?.querySelector<HTMLTextAreaElement>(FIELD);
      if (field) return field;
      if (performance.now() > limit) return null;
      await new Promise(requestAnimationFrame);
    }
  }

  async focus(): Promise<void> {
    const { session } = this;
    if (session) focus(await this.#field(session));
    else this.openSide();
  }

  /** Start another agent. */
  async start(): Promise<void> {
    this.openSide();
    const session = await this.#side.start();
    if (session) await this.focus();
  }

  /** Send a prompt about a cell at once. */
  async ask(
    question: string,
    {
      cell,
      failed = false,
      selected = true,
    }: { cell?: Cell; failed?: boolean; selected?: boolean } = {},
  ): Promise<void> {
    const found = this.#cell(cell);
    if (!found) return;
    const session = await this.#ready();
    if (!session) return;
    if (this.#reading) return; // pressed twice
    this.#reading = true;
    const about = await readCell(found.notebook, found.cell, { failed, selected }).finally(
      () => (this.#reading = false),
    );
    const isText = question === "" && about.type !== "code";
    const text = isText ? about.selection || about.source : promptAbout(question || LOOK, about);
    if (text.trim() === "") return this.#say("The cell is empty.");
    // The text quotes what others may have written: an @ in it attaches nothing.
    session.emit({ t: "prompt", text, mentions: isText ? [] : about.variables });
    await this.#field(session);
  }

  askToFix(cell: Cell): Promise<void> {
    return this.ask(FIX, { cell, failed: true, selected: false });
  }

  /** Write what a question needs into the field; the user writes the question. */
  async write(selected: boolean): Promise<void> {
    const found = this.#cell();
    if (!found) return;
    const session = await this.#ready();
    if (!session) return;
    const about = await readCell(found.notebook, found.cell, { selected });
    const field = await this.#field(session);
    if (!field) return;
    const before = field.value.trimEnd();
    enter(field, `${before}\n\n${contextOf(about)}`, before.length);
    field.scrollTop = 0;
  }

  #cell(cell?: Cell): { notebook: NotebookPanel; cell: Cell } | null {
    const { notebook } = this.#sessions;
    const found = cell ?? notebook?.content.activeCell;
    if (notebook && found) return { notebook, cell: found };
    this.#say("Open a notebook and select a cell.");
    return null;
  }

  stop(): void {
    const { session } = this;
    const turn = session && summaryOf(session.store.snapshot).running;
    if (session && turn) session.emit({ t: "cancel", turn });
    else this.#say("No agent is working here.");
  }

  /** Answer the question in view; if it is not in view, show it. */
  async answer(meaning: Meaning): Promise<void> {
    const { notebook } = this.#sessions;
    const within = [this.#side.widget.node, ...(notebook ? [notebook.node] : [])];
    const outcome = this.#questions.answer(meaning, within);
    if (outcome.answered) return;
    this.#say(outcome.why);
    const asking = this.#sessions.all.find(({ store }) => summaryOf(store.snapshot).asks);
    if (asking) await this.#field(asking);
  }

  /** Go to the next change that can be kept or undone. */
  async nextChange(): Promise<void> {
    const { session } = this;
    if (!session || !(await this.#field(session)))
      return this.#say("No agent has changed anything.");
    const aside = this.#dock.has(session.id);
    const root = aside ? this.#side.widget.node : this.#dock.cellOf(session.id);
    const roots = [root, this.#sessions.notebook?.node].filter((it) => it != null);
    const all = [...new Set(roots.flatMap((it) => [...it.querySelectorAll<HTMLElement>(CHANGE)]))];
    const changes = all.filter((it) => it.querySelector(OPERATION) !== null);
    if (changes.length === 0) return this.#say("No changes to review.");
    const at = changes.findIndex((it) => it.contains(document.activeElement));
    const next = changes[(at + 1) % changes.length];
    next?.scrollIntoView({ block: "center" });
    focus(next?.querySelector<HTMLElement>(OPERATION));
  }

  undoTurn(): void {
    const { session } = this;
    const undoing = session ? undoingLastTurn(session.store.snapshot) : [];
    for (const intent of undoing) session?.emit(intent);
    if (undoing.length === 0) this.#say("The last turn has nothing to undo.");
  }
}

const CHANGE = ".acp-card-change, .acp-changed-file";
const OPERATION =
  "[data-acp-operation='keep']:not([disabled]), [data-acp-operation='undo']:not([disabled])";

/** Put a text into a field as if it was typed, with the caret there: its component keeps the draft. */
function enter(field: HTMLTextAreaElement, text: string, caret: number): void {
  focus(field);
  field.value = text;
  field.setSelectionRange(caret, caret);
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

/** Again a moment later: the palette takes the focus along when it closes, after its command has run. */
function focus(el: HTMLElement | null | undefined): void {
  const take = () =>
    document.activeElement?.closest(".lm-CommandPalette") ?? el?.focus({ preventScroll: true });
  el?.focus({ preventScroll: true });
  setTimeout(take, PALETTE_MS);
}
