// The other documents of the page: which have unsaved changes, for the sessions of all notebooks, and what a session's
// kernel asks about them. A notebook is read and changed as the open one of a session is, a text as a whole.

import { answering, liveDocument, located, Refusal, write } from "../../src/live";
import type { Live, LiveContext } from "../../src/live";
import { cellsOf } from "../../src/host_cells";
import { shell } from "../../src/shell";
import type { DocIntent, DocRequest, Json } from "../../src/types";
import type { App, HostWidget, Signal } from "./host";
import type { Sessions } from "./sessions";

/** As many as the kernel accepts (core/intents.py). */
const MOST_TABS = 200;
const AGAIN_MS = 200;

interface SharedText {
  getSource(): string;
  setSource(text: string): void;
  updateSource?(start: number, end: number, text: string): void;
  transact(change: () => void): void;
  readonly undoManager?: { stopCapturing?(): void };
}

interface TabContext extends Omit<LiveContext, "model"> {
  readonly pathChanged?: Signal;
  readonly model: Omit<LiveContext["model"], "sharedModel"> & {
    readonly stateChanged?: Signal;
    readonly sharedModel?: SharedText | LiveContext["model"]["sharedModel"];
  };
}

export class Tabs {
  readonly #app: App;
  readonly #watched = new WeakSet<object>();
  readonly #answerers = new WeakMap<object, Live["answer"]>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What each session was told last. */
  readonly #told = new WeakMap<object, string>();

  constructor(app: App, sessions: Sessions) {
    this.#app = app;
    shell().answerTab = (request, send) => this.#answer(request, send);
    const look = () => this.#look();
    app.shell.layoutModified?.connect(look);
    app.shell.currentChanged?.connect(look);
    sessions.changed.add(look);
    void app.restored.then(look);
  }

  /** Report at once, so that a prompt that follows has the text of the tab, and again soon: a session may not be
      live yet. */
  #look(): void {
    this.#report();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#report();
    }, AGAIN_MS);
  }

  /** The documents of the page, each once. */
  #contexts(): TabContext[] {
    const widgets = [...this.#app.shell.widgets("main")];
    const found = new Set(widgets.flatMap((it) => contextOf(it) ?? []));
    for (const context of found) {
      if (this.#watched.has(context)) continue;
      this.#watched.add(context);
      context.model.stateChanged?.connect(() => this.#look());
      context.pathChanged?.connect(() => this.#look());
    }
    return [...found];
  }

  #report(): void {
    const unsaved = this.#contexts().filter(({ model }) => model.dirty);
    for (const session of shell().sessions.values()) {
      if (session.store.snapshot.link !== "live") continue;
      const own = (session.manager as { context?: unknown } | undefined)?.context;
      const others = unsaved.filter((it) => it !== own).slice(0, MOST_TABS);
      const paths = (notebooks: boolean) =>
        others.filter((it) => isNotebook(it) === notebooks).map(({ path }) => path);
      const told = { t: "tabs", notebooks: paths(true), texts: paths(false) } as const;
      const text = JSON.stringify(told);
      if ((this.#told.get(session) ?? NOTHING) === text) continue;
      this.#told.set(session, text);
      session.emit(told);
    }
  }

  #answer(request: DocRequest, send: (answer: DocIntent) => void): void {
    const context = this.#contexts().find(({ path }) => path === request.tab);
    if (!context) return void CLOSED(request, send);
    let answer = this.#answerers.get(context);
    if (!answer) this.#answerers.set(context, (answer = answererOf(context)));
    void answer(request, send);
  }
}

const NOTHING = JSON.stringify({ t: "tabs", notebooks: [], texts: [] });

const CLOSED = answering(() => Promise.reject(new Refusal("stale", "the tab was closed")));

function contextOf(widget: HostWidget): TabContext | null {
  const { context } = widget as { context?: TabContext };
  const shared = context?.model?.sharedModel;
  const usable = context && typeof context.path === "string" && shared;
  return usable && (isNotebook(context) || "getSource" in shared) ? context : null;
}

function isNotebook({ model }: TabContext): boolean {
  return model.sharedModel !== undefined && "insertCell" in model.sharedModel;
}

function answererOf(context: TabContext): Live["answer"] {
  if (!isNotebook(context)) return answering((request) => ofText(context, request));
  const cells = (shared: unknown) => cellsOf({}, [], shared);
  const live = liveDocument(context as unknown as LiveContext, cells);
  return live ? live.answer : CLOSED;
}

async function ofText(context: TabContext, request: DocRequest): Promise<Json> {
  const text = context.model.sharedModel as SharedText;
  switch (request.op) {
    case "ping":
      return null;
    case "locate":
      return located(context as unknown as LiveContext);
    case "text":
      return { text: text.getSource(), dirty: context.model.dirty };
    case "write":
      if (text.getSource() !== request.based_on) throw new Refusal("stale", "the text was changed");
      text.undoManager?.stopCapturing?.();
      text.transact(() => write(text, request.text));
      text.undoManager?.stopCapturing?.();
      return null;
    default:
      throw new Refusal("failed", "it is not a notebook");
  }
}
