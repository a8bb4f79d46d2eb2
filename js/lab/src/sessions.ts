// The sessions and pickers of this page, as their widgets have announced them, and the notebook that the user works in.

import type { PagePicker, PageSession } from "../../src/shell";
import { shell } from "../../src/shell";
import { line } from "../../src/view/display_text";
import { asNotebook } from "./host";
import type { App, DocumentContext, NotebookPanel } from "./host";
import { Listeners, until } from "./listeners";
import { summaryOf } from "./summary";

/** A widget's module is loaded by then, even in a busy page. */
const LOADED_MS = 60_000;

export class Sessions {
  readonly changed = new Listeners();
  #notebook: NotebookPanel | null = null;
  readonly #app: App;
  readonly #watched = new WeakSet<PageSession | NotebookPanel>();

  constructor(app: App) {
    this.#app = app;
    shell().changed = () => {
      for (const session of shell().sessions.values()) this.#watch(session);
      this.changed.tell();
    };
    app.shell.currentChanged?.connect(() => this.follow());
    void app.restored.then(() => this.follow());
  }

  /** What a session is doing changes far less often than its conversation. */
  #watch(session: PageSession): void {
    if (this.#watched.has(session)) return;
    this.#watched.add(session);
    let before = "";
    session.store.subscribe((snapshot) => {
      const { title, status } = snapshot.state.session;
      const now = JSON.stringify([
        summaryOf(snapshot),
        snapshot.link,
        snapshot.shown,
        title,
        status,
      ]);
      if (now !== before) this.changed.tell();
      before = now;
    });
  }

  /** The user works in this notebook now. */
  follow(found = asNotebook(this.#app.shell.currentWidget)): void {
    // Beside a notebook, its user may look at a file: the sessions stay those of the notebook.
    if (!found || found === this.#notebook) return;
    this.#notebook = found;
    if (!this.#watched.has(found)) this.#watchNotebook(found);
    this.changed.tell();
  }

  #watchNotebook(found: NotebookPanel): void {
    this.#watched.add(found);
    found.disposed.connect(() => {
      if (this.#notebook !== found) return;
      this.#notebook = null;
      this.changed.tell();
    });
    const { sessionContext } = found.context;
    sessionContext.kernelChanged.connect(() => this.changed.tell());
    sessionContext.statusChanged.connect(() => this.changed.tell());
  }

  /** The notebook that the user works in, or did last; null if it was closed. */
  get notebook(): NotebookPanel | null {
    return this.#notebook;
  }

  /** Its sessions, the newest last. */
  get all(): PageSession[] {
    return this.#notebook ? this.of(this.#notebook.context) : [];
  }

  of(context: DocumentContext): PageSession[] {
    return [...shell().sessions.values()].filter(({ manager }) => contextOf(manager) === context);
  }

  find(id: string): PageSession | undefined {
    return shell().sessions.get(id);
  }

  /** Resolves when the page has it. */
  async session(id: string): Promise<PageSession> {
    await this.#until(() => shell().sessions.has(id));
    return shell().sessions.get(id)!;
  }

  async picker(id: string): Promise<PagePicker> {
    await this.#until(() => shell().pickers.has(id));
    return shell().pickers.get(id)!;
  }

  #until(isTrue: () => boolean): Promise<void> {
    return until(isTrue, (listener) => this.changed.add(listener), LOADED_MS);
  }
}

function contextOf(manager: unknown): unknown {
  return (manager as { context?: unknown } | undefined)?.context;
}

/** Whether a session can still do something. */
export function isLive({ store }: PageSession): boolean {
  return store.snapshot.link !== "gone" && store.snapshot.state.session.status !== "closed";
}

/** What the user calls a session: its agent, and its title if it has one. */
export function nameOf({ store }: PageSession): string {
  const { agent, title } = store.snapshot.state.session;
  return line([agent?.title ?? agent?.name ?? "Agent", title].filter(Boolean).join(": "));
}
