// Shows the outputs of a notebook that several people share. Such a document never has a widget's type, which would
// be an error in the next page: an output has the transcript's type, and is drawn live while a session of this page
// is known to belong there, else as the HTML that it has.

import { NOTE, WIDGET_VIEW, newestFirst } from "../../src/document";
import { shell } from "../../src/shell";
import type { PageSession } from "../../src/shell";
import { TRANSCRIPT, turnOf } from "../../src/static";
import { widgets } from "./dock";
import { element } from "./dom";
import { asNotebook } from "./host";
import type { App, Fields, HostWidget, Json, NotebookPanel, WidgetsModule } from "./host";
import type { Sessions } from "./sessions";

/** A page has connected to the session by then, if the kernel has it. */
const STOPPED_MS = 5000;

const STOPPED = "The notebook has this turn up to here. Its kernel no longer runs it.";

/** Before text/html (50), after widgets (0). */
const RANK = 40;

interface MimeModel {
  readonly data: Fields;
  readonly metadata: Fields;
}

interface Renderer extends HostWidget {
  renderModel(model: MimeModel): Promise<void>;
}

export interface MimeRegistry {
  addFactory(
    factory: {
      safe: boolean;
      mimeTypes: string[];
      createRenderer: (options: unknown) => Renderer;
    },
    rank: number,
  ): void;
  createRenderer(type: string, model?: unknown): Renderer;
}

/** The session and the turn (null: all of it) that an output shows. */
interface Live {
  readonly session: PageSession;
  readonly turn: string | null;
  readonly model: string;
}

/** What we use of the widgets around an output. */
interface Around {
  readonly parent?: Around | null;
  readonly model?: { readonly id?: string; readonly type?: string; readonly sharedModel?: unknown };
  readonly widgets?: unknown;
}

export function renderTranscripts(
  { Panel }: WidgetsModule,
  registry: MimeRegistry,
  sessions: Sessions,
): void {
  class Transcript extends Panel {
    #model: MimeModel | null = null;
    #live: Live | null = null;
    #until = new AbortController();
    readonly #leave = sessions.changed.add(() => void this.#show());

    renderModel(model: MimeModel): Promise<void> {
      this.#model = model;
      return this.#show(true);
    }

    onAfterAttach(): void {
      void this.#show();
    }

    async #show(again = false): Promise<void> {
      if (!this.#model || this.isDisposed) return;
      // Again, even if it is live: it may have been made static, or show another turn now.
      const live = again || !this.#live ? liveOutput(this.#model, this, this.#live) : this.#live;
      if (live) return this.#draw(live);
      this.#live = null;
      if (!again && this.widgets.length > 0) return;
      this.#clear();
      const html = registry.createRenderer("text/html");
      this.addWidget(html);
      await html.renderModel(this.#model);
      if (isUnfinished(this.#model.data[TRANSCRIPT]))
        setTimeout(() => this.#saysItStopped(), STOPPED_MS);
    }

    /** The file has a turn that no kernel goes on with. */
    #saysItStopped(): void {
      if (this.#live || this.isDisposed || this.node.querySelector(".acp-lab-stopped")) return;
      this.node.append(element("div", { class: "acp-lab-stopped" }, STOPPED));
    }

    #draw(live: Live): void {
      if (this.#live?.session === live.session && this.#live.turn === live.turn) return;
      this.#clear();
      this.#live = live;
      const { session, turn, model } = live;
      session.mount(turn, this.node, this.#until.signal, model, widgets);
    }

    #clear(): void {
      this.#until.abort();
      this.#until = new AbortController();
      for (const widget of [...this.widgets]) widget.dispose();
      this.node.replaceChildren();
    }

    override dispose(): void {
      this.#leave();
      this.#until.abort();
      super.dispose();
    }
  }
  registry.addFactory(
    { safe: true, mimeTypes: [TRANSCRIPT], createRenderer: () => new Transcript() },
    RANK,
  );
  shell().renders = true;
}

/** What the output shows, if a session of this page belongs there. `drawn`: what it shows already. */
export function liveOutput(
  { data, metadata }: MimeModel,
  widget: Around,
  drawn: Live | null = null,
): Live | null {
  const note = fields(metadata[NOTE]);
  const turn = turnOf(data[TRANSCRIPT]);
  const { cell, notebook } = around(widget);
  for (const session of newestFirst(shell().sessions.values())) {
    const model = modelOf(session);
    if (!model?.collaborative) continue;
    if (note) {
      if (note["session"] !== session.id) continue;
      const shown = typeof note["turn"] === "string" ? note["turn"] : null;
      return { session, turn: shown, model: String(note["model_id"]) };
    }
    if (turn === undefined || (notebook && model.sharedModel !== notebook)) continue;
    const place = session.store
      .places()
      .find((it) => it.turn === turn && (it.cell === cell || drawn?.session === session));
    if (place) return { session, turn, model: place.model };
  }
  return null;
}

function modelOf({
  manager,
}: PageSession): { collaborative?: boolean; sharedModel?: unknown } | null {
  return (manager as { context?: { model?: object } } | undefined)?.context?.model ?? null;
}

/** The cell that an output is below, and the shared document of its notebook. */
function around(widget: Around): { cell: string | undefined; notebook: unknown } {
  let cell: string | undefined;
  for (let at: Around | null | undefined = widget; at; at = at.parent) {
    if (at.model?.type === "code") cell ??= at.model.id;
    else if (cell !== undefined && Array.isArray(at.widgets) && at.model?.sharedModel)
      return { cell, notebook: at.model.sharedModel };
  }
  return { cell, notebook: undefined };
}

/** Whether it is a turn, or has one, that was running when it was written. */
export function isUnfinished(transcript: Json | undefined): boolean {
  return (Array.isArray(transcript) ? transcript : [transcript]).some((line) => {
    try {
      const { items } = JSON.parse(String(line)) as { items?: Fields[] };
      return items?.some(({ type, status }) => type === "turn" && status === "running");
    } catch {
      return false;
    }
  });
}

function fields(value: Json | undefined): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
}

// ---- what comes from the kernel

interface Message {
  readonly header: { readonly msg_id: string; readonly msg_type: string };
  readonly content: { data?: Fields; metadata?: Fields };
}

interface HookedKernel {
  readonly anyMessage?: {
    connect(slot: (sender: unknown, value: { msg: Message; direction: string }) => void): unknown;
  };
  registerMessageHook?(id: string, hook: (message: Message) => boolean): void;
}

/** Keep the widget's type out of shared documents: replace it before the host adds the output. */
export function keepWidgetsOut(app: App): void {
  shell().notebook = (shared) =>
    [...app.shell.widgets("main")]
      .map(asNotebook)
      .find((panel) => panel?.context.model.sharedModel === shared)?.content;
  const known = new WeakSet<object>();
  const look = () => {
    for (const widget of app.shell.widgets("main")) {
      const panel = asNotebook(widget);
      if (panel) watchKernels(panel, known);
    }
  };
  app.shell.layoutModified?.connect(look);
  app.shell.currentChanged?.connect(look);
  void app.restored.then(look);
}

function watchKernels(panel: NotebookPanel, known: WeakSet<object>): void {
  if (known.has(panel)) return;
  known.add(panel);
  const { context } = panel;
  const isShared = () => (context.model as { collaborative?: boolean }).collaborative === true;
  const watch = () => {
    const kernel = context.sessionContext.session?.kernel as HookedKernel | null | undefined;
    if (!kernel?.registerMessageHook || known.has(kernel)) return;
    known.add(kernel);
    kernel.anyMessage?.connect((_, { msg, direction }) => {
      if (direction !== "send" || msg.header.msg_type !== "execute_request" || !isShared()) return;
      // The host begins to wait for the answers after this signal.
      void Promise.resolve().then(() =>
        kernel.registerMessageHook?.(msg.header.msg_id, (message) => {
          if (message.header.msg_type === "display_data") keepWidgetOut(message.content);
          return true;
        }),
      );
    });
  };
  context.sessionContext.kernelChanged.connect(watch);
  watch();
}

/** An output of ours gets the type that is drawn live, and a note of what it shows. */
export function keepWidgetOut(content: Message["content"]): void {
  const view = fields(content.data?.[WIDGET_VIEW]);
  const ours = fields(view?.[NOTE]);
  if (!view || !ours) return;
  const text = "Agent: nothing to show yet.";
  content.data = {
    "text/html": `<p>${text}</p>`,
    "text/plain": text,
    [TRANSCRIPT]: ours["transcript"] ?? null,
  };
  const { session = null, turn = null } = ours;
  const note = { model_id: view["model_id"] ?? null, session, turn };
  content.metadata = { ...content.metadata, [NOTE]: note };
}
