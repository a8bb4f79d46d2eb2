// The session's widget (anywidget, factory form): one closure per model, shared by all its views.
// `initialize` listens, so that nothing sent before the display is lost, and gives `mount` to the
// widgets of the session's turns.

import type { AnyModel, InitializeProps, RenderProps } from "@anywidget/types";
import { cellsOf } from "./host_cells";
import { attach, contextOf, hasWidget, hostOf, registerWidget, watchKernel } from "./document";
import type { OpenDocument } from "./document";
import { perFrame } from "./frame_schedule";
import { connect } from "./link";
import type { Connection, Introduction } from "./link";
import { liveDocument } from "./live";
import type { Live, LiveContext } from "./live";
import { notifyWhenHidden, notifying, setNotifying } from "./notifications";
import { openingOf } from "./open_file";
import { revealView } from "./reveal_cell";
import { announce, shell } from "./shell";
import type { Draw, Mount, PageHost } from "./shell";
import { minimalBundle, wholeBundle } from "./static";
import { SESSION, Store, systemClock } from "./store";
import type { Snapshot } from "./store";
import { isRunning, turnId } from "./turns";
import { terminalOf } from "./server_terminal";
import { typesetOf } from "./typesetter";
import type { Bundle, Json } from "./types";
import { mountView } from "./view/mount";
import { placesOf } from "./view/places";

/** How a turn of this kernel ends. Turns of a session's history were saved before. */
const OVER: ReadonlySet<string> = new Set(["done", "failed", "abandoned"]);

export default () => {
  let mount: Mount | undefined;
  return {
    initialize({ model, signal }: InitializeProps): { mount: Mount } {
      mount = open(model, signal);
      return { mount };
    },
    render({ model, el, signal, host }: RenderProps): void {
      mount?.(null, el, signal, idOf(model), host);
    },
  };
};

/** anywidget's model does not expose its id: the kernel puts it into a trait. */
function idOf(model: AnyModel): string {
  return String(model.get("self_id"));
}

function open(model: AnyModel, signal: AbortSignal): Mount {
  const manager: unknown = model.widget_manager;
  const session = idOf(model);
  const store = new Store(perFrame());
  const page = attach(
    manager,
    session,
    (turn, present, elsewhere) => fileForm(store, turn, present, elsewhere),
    () => store.places(),
  );
  if (page) {
    markChanges(store, page, signal);
    restorePlaced(store, page, signal);
  }
  notifyWhenHidden(store, session, signal);
  const context = contextOf(manager);
  const shown = new Set<string>();
  const live =
    page &&
    liveDocument(
      context as LiveContext | null,
      (shared) => cellsOf(manager, shown, shared),
      Date.now,
      (id) => store.places().find((it) => it.model === id)?.cell,
    );
  const introduction: Introduction = {
    view: randomId(),
    // Without the shell, a shared document cannot show a turn live once its output is static.
    document: page !== null && (!context?.model.collaborative || shell().renders === true),
    host: hostOf(manager),
    live: live !== null,
    get path() {
      return context?.path ?? null;
    },
    get person() {
      return personOf(context as LiveContext | null);
    },
  };
  const connection: Connection = connect(
    model,
    store,
    introduction,
    signal,
    systemClock,
    (request, send) =>
      void (request.tab === null
        ? live?.answer(request, send)
        : shell().answerTab?.(request, send)),
  );
  const renamed = () => void (store.link !== "gone" && connection.hello());
  context?.pathChanged?.connect(renamed);
  signal.addEventListener("abort", () => context?.pathChanged?.disconnect(renamed));
  watchKernel(
    manager,
    {
      gone: () => store.setLink("gone"),
      lost: () => store.setLink("offline"),
      back: () => store.link !== "gone" && connection.hello(),
    },
    signal,
  );
  const typeset = typesetOf(manager);
  const files = openingOf(manager, context as LiveContext | null, introduction.host);
  const terminal = terminalOf(context as LiveContext | null, introduction.host);
  const host = {
    notifications: { state: notifying, set: setNotifying },
    ...(typeset ? { typeset } : {}),
    ...(files ? { files } : {}),
    ...(terminal ? { terminal } : {}),
    expects: (turn: string) => hasWidget(session, turn),
    reveal: revealView,
  };
  const places = placesOf(session);
  const mount: Mount = (turn, el, viewSignal, modelId, page, inside = false) => {
    if (!inside) {
      registerWidget(modelId, session, turn);
      shown.add(modelId);
    }
    const inserting = live ? { insert: inserter(live, modelId) } : {};
    const around = {
      ...host,
      ...inserting,
      ...(page ? { panel: panelIn(page), turn: turnIn(page, modelId) } : {}),
    };
    const draw: Draw = (box, until) =>
      mountView(store, connection.emit, turn, box, until, around, inside, places);
    const placed = turn === null && !inside ? shell().panel : undefined;
    if (placed) placed(session, el, viewSignal, draw);
    else draw(el, viewSignal);
  };
  announce(shell().sessions, { id: session, manager, store, emit: connection.emit, mount }, signal);
  return mount;
}

/** Jupyter's identity of the user; null if nobody else has the document. */
function personOf(context: LiveContext | null): string | null {
  const { display_name, username } = context?._manager?.user?.identity ?? {};
  return context?.model.collaborative ? (display_name ?? username ?? "") : null;
}

/** Mounts the panel of another session with the code of its own widget. */
function panelIn(
  page: PageHost,
): (model: string, el: HTMLElement, signal: AbortSignal) => Promise<void> {
  return async (model, el, signal) => {
    const widget = await page.getWidget<{ mount: Mount }>(`anywidget:${model}`);
    widget.exports.mount(null, el, signal, model, page);
  };
}

/** Mounts a turn of another session within a view of this one. */
function turnIn(
  page: PageHost,
  shownBy: string,
): (model: string, turn: string, el: HTMLElement, signal: AbortSignal) => Promise<void> {
  return async (model, turn, el, signal) => {
    const widget = await loaded(page, model, signal);
    widget?.exports.mount(turn, el, signal, shownBy, page, true);
  };
}

/** As turn.js: the page gives a widget 10 s to load, and a busy one may need more. */
const TRIES = 6;

/** The widget of another session; null if nobody waits for it any more. */
async function loaded(page: PageHost, model: string, signal: AbortSignal) {
  for (let tries = 1; !signal.aborted; tries++) {
    try {
      return await page.getWidget<{ mount: Mount }>(`anywidget:${model}`);
    } catch (error) {
      if (tries === TRIES || !/timed out/i.test(String(error))) throw error;
    }
  }
  return null;
}

const PROSE: ReadonlySet<string> = new Set(["markdown", "md"]);

/** Inserts cells below the cell that shows that widget. */
function inserter(
  live: Live,
  modelId: string,
): (source: string, language: string, outputs?: readonly Json[]) => void {
  return (source, language, outputs) => {
    const type = PROSE.has(language.toLowerCase()) ? "markdown" : "code";
    void live.insertBelow(modelId, source.replace(/\n$/, ""), type, outputs).catch(console.error);
  };
}

/** What the file holds: the kernel's static output, else what the file has of a turn that ended, else ours. */
function fileForm(
  store: Store,
  turn: string | null,
  present: Bundle,
  elsewhere: ReadonlySet<string>,
): Bundle {
  const { turns } = store.snapshot;
  const made = store.staticOutput(turn ?? SESSION);
  if (made && turn !== null) return made.bundle;
  if (made) {
    const isTurn = (name: string) => turns.some(({ start }) => start && turnId(start) === name);
    const other = (name: string) => (isTurn(name) ? minimalBundle(turns, name) : {});
    return wholeBundle(made, (name) => store.staticOutput(name), other, elsewhere);
  }
  const running = turns.some(({ start }) => start && turnId(start) === turn && isRunning(start));
  return !running && Object.keys(present).length > 0 ? present : minimalBundle(turns, turn);
}

/** After a reload, the kernel says where its widgets were. */
function restorePlaced(store: Store, page: OpenDocument, signal: AbortSignal): void {
  let before = 0;
  const leave = store.subscribe(({ shown }) => {
    if (shown !== before) page.placed();
    before = shown;
  });
  signal.addEventListener("abort", leave);
}

/** Streaming does not mark a document as changed, so autosave would skip it. */
function markChanges(store: Store, page: OpenDocument, signal: AbortSignal): void {
  let before: Snapshot | null = null;
  const leave = store.subscribe((now) => {
    if (before?.link === "live") {
      const was = new Map(before.turns.map((turn) => [turn.key, turn]));
      const changed = now.turns.filter((turn) => turn !== was.get(turn.key));
      const ended = changed.some(({ key, start }) => {
        const then = was.get(key)?.start; // none: it started and ended within one frame
        return start && OVER.has(start.status) && (!then || isRunning(then));
      });
      const running = now.turns.some(({ start }) => start && isRunning(start));
      if (ended || now.bundles !== before.bundles) page.touch(true, running);
      else if (changed.some(({ start }) => start && isRunning(start))) page.touch(false, running);
    }
    before = now;
  });
  signal.addEventListener("abort", leave);
}

function randomId(): string {
  // Not randomUUID(): pages served over plain http do not have it.
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
