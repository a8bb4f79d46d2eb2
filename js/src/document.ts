// The open document: live here, static in the file. The only code that touches widget_manager.context,
// which only JupyterLab 4 and Notebook 7 have.
//
// The document model's `toJSON` is shadowed once; in what it returns, the outputs that show one of our
// widgets hold the static form instead. So every save writes a file that needs no kernel, and the page
// keeps its view. The shadow stays when a session ends: the file is saved after that, too.

import type { Bundle, Fields, Host, Json } from "./types";

export const WIDGET_VIEW = "application/vnd.jupyter.widget-view+json";
/** The key in an output's metadata that says which turn it shows. */
export const NOTE = "acp_notebook";

/** The interval of marking the document as changed during a turn: autosave is far slower. */
export const DIRTY_MS = 5000;
/** A reloaded page has created its widgets by then, or has none. */
const RESTORED_MS = 10_000;

/** Makes the static output of a turn (null: of the whole session) from what the output holds now. */
export type Provider = (turn: string | null, present: Bundle) => Bundle;

type Owner = readonly [session: string, turn: string | null];

// Shared by all copies of this module in the page, whatever their version.
const SHADOW = Symbol.for("acp_notebook.document");
const WIDGETS = Symbol.for("acp_notebook.widgets");

// ---- what we use of the host

interface HostSignal<T> {
  connect(slot: (sender: unknown, value: T) => void): unknown;
  disconnect(slot: (sender: unknown, value: T) => void): unknown;
}

interface Outputs {
  readonly length: number;
  get(at: number): { toJSON(): Json };
  set(at: number, output: Json): void;
}

interface DocumentModel {
  toJSON(): Json;
  dirty: boolean;
  readonly collaborative?: boolean;
  readonly cells: { readonly length: number; get(at: number): { readonly outputs?: Outputs } };
  [SHADOW]?: Map<string, Provider>;
}

interface KernelMessage {
  readonly header: { readonly session: string; readonly msg_type: string };
  readonly content: { readonly execution_state?: unknown };
}

export interface Context {
  readonly path?: string;
  readonly pathChanged?: HostSignal<string>;
  readonly model: DocumentModel;
  readonly ready: Promise<void>;
  readonly sessionContext?: {
    readonly statusChanged?: HostSignal<string>;
    readonly connectionStatusChanged?: HostSignal<string>;
    readonly kernelChanged?: HostSignal<{ newValue: unknown }>;
    readonly iopubMessage?: HostSignal<KernelMessage>;
  };
}

interface Manager {
  readonly context?: Context;
  readonly restoredStatus?: boolean;
  readonly restored?: HostSignal<void>;
  has_model?(id: string): boolean;
}

// ---- the widgets that are ours

function widgets(): Map<string, Owner> {
  const page = globalThis as { [WIDGETS]?: Map<string, Owner> };
  return (page[WIDGETS] ??= new Map());
}

/** Record which turn a widget shows. turn.js does the same for turns that were never drawn. */
export function registerWidget(id: string, session: string, turn: string | null): void {
  widgets().set(id, [session, turn]);
}

/** Whether the page has a widget for a turn, drawn or not. */
export function hasWidget(session: string, turn: string): boolean {
  return [...widgets().values()].some(([owner, shown]) => owner === session && shown === turn);
}

// ---- attaching

export interface OpenDocument {
  /** The transcript changed; `final`: a turn ended, so mark the document at once. */
  touch(final: boolean): void;
}

export function hostOf(manager: unknown): Host {
  if (!contextOf(manager)) return "other";
  return document.body.dataset["notebook"] === undefined ? "jupyterlab" : "notebook";
}

export function contextOf(manager: unknown): Context | null {
  const context = (manager as Manager | undefined)?.context;
  const usable = typeof context?.model?.toJSON === "function" && context.model.cells !== undefined;
  return usable ? context : null;
}

/** Keep the file static for this session; null if there is no document, or if the server writes it. */
export function attach(manager: unknown, session: string, provide: Provider): OpenDocument | null {
  const context = contextOf(manager);
  if (!context || context.model.collaborative) return null;
  shadow(context.model).set(session, provide);
  void restore(context, manager as Manager, session);
  let touched = -Infinity;
  return {
    touch(final) {
      const shown = [...widgets().values()].some(([owner]) => owner === session);
      const now = Date.now();
      if (!shown || (!final && now - touched < DIRTY_MS)) return;
      touched = now;
      context.model.dirty = true;
    },
  };
}

function shadow(model: DocumentModel): Map<string, Provider> {
  const present = model[SHADOW];
  if (present) return present;
  const providers = (model[SHADOW] = new Map<string, Provider>());
  const original = model.toJSON.bind(model);
  model.toJSON = () => substituted(original(), providers);
  return providers;
}

// ---- what is saved

function isFields(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The notebook with the static form in place of each of our widgets. */
export function substituted(notebook: Json, providers: ReadonlyMap<string, Provider>): Json {
  if (!isFields(notebook) || !Array.isArray(notebook["cells"])) return notebook;
  const cells = notebook["cells"].map((cell) => {
    if (!isFields(cell) || !Array.isArray(cell["outputs"])) return cell;
    return { ...cell, outputs: cell["outputs"].map((output) => staticOutput(output, providers)) };
  });
  return { ...notebook, cells };
}

function staticOutput(output: Json, providers: ReadonlyMap<string, Provider>): Json {
  if (!isFields(output) || !isFields(output["data"])) return output;
  const { [WIDGET_VIEW]: view, ...present } = output["data"];
  const id = isFields(view) ? view["model_id"] : undefined;
  if (typeof id !== "string") return output;
  const [session, turn] = widgets().get(id) ?? [id, null];
  const provide = providers.get(session);
  if (!provide) return output;
  const metadata = isFields(output["metadata"]) ? output["metadata"] : {};
  return {
    ...output,
    data: nonEmpty(() => provide(turn, isFields(metadata[NOTE]) ? present : {})),
    metadata: { ...metadata, [NOTE]: { model_id: id, session, turn } },
  };
}

/** Saving must not fail because of us, and an output must not be empty. */
function nonEmpty(make: () => Bundle): Fields {
  let why = "nothing to show yet";
  try {
    const bundle = make();
    if (Object.keys(bundle).length > 0) return { ...bundle };
  } catch (error) {
    console.error("acp_notebook: no static form", error);
    why = "its text could not be rendered";
  }
  return { "text/plain": `An agent's turn (${why}).` };
}

// ---- after a reload

/** The file is static, but the kernel still has the widgets: show them where they were. */
async function restore(context: Context, manager: Manager, session: string): Promise<void> {
  await context.ready;
  await restored(manager);
  const { model } = context;
  const wasDirty = model.dirty;
  for (let cell = 0; cell < model.cells.length; cell++) {
    const outputs = model.cells.get(cell).outputs;
    for (let at = 0; outputs && at < outputs.length; at++) {
      const live = liveOutput(outputs.get(at).toJSON(), manager, session);
      if (live) outputs.set(at, live); // one render; setData would make two
    }
  }
  if (!wasDirty) model.dirty = false;
}

function liveOutput(output: Json, manager: Manager, session: string): Json | null {
  if (!isFields(output) || !isFields(output["data"]) || !isFields(output["metadata"])) return null;
  const note = output["metadata"][NOTE];
  if (!isFields(note) || note["session"] !== session || WIDGET_VIEW in output["data"]) return null;
  const { model_id: id, turn } = note;
  if (typeof id !== "string" || !manager.has_model?.(id)) return null;
  registerWidget(id, session, typeof turn === "string" ? turn : null);
  const view = { version_major: 2, version_minor: 0, model_id: id };
  return { ...output, data: { ...output["data"], [WIDGET_VIEW]: view } };
}

/** Resolves when the host has restored the kernel's widgets. */
function restored(manager: Manager): Promise<void> {
  const signal = manager.restored;
  if (manager.restoredStatus !== false || !signal) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      signal.disconnect(done);
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, RESTORED_MS);
    signal.connect(done);
  });
}

// ---- the kernel, as the document sees it

export interface KernelWatcher {
  gone(): void;
  lost(): void;
  back(): void;
}

const GONE: ReadonlySet<string> = new Set(["restarting", "autorestarting", "terminating", "dead"]);

/** Report when the kernel is gone, and when the connection is lost or back. */
export function watchKernel(manager: unknown, watcher: KernelWatcher, signal: AbortSignal): void {
  const session = contextOf(manager)?.sessionContext;
  if (!session) return;
  const status = (_: unknown, value: string) => void (GONE.has(value) && watcher.gone());
  const kernel = () => watcher.gone(); // another kernel, or none: this session was in the previous one
  // A restart by another client changes no status here, but the new process uses another session id.
  let kernelSession: string | null = null;
  const message = (_: unknown, { header, content }: KernelMessage) => {
    const busy = header.msg_type === "status" && content.execution_state === "busy";
    if (!busy) return; // the server sends some states itself, but never this one
    if (kernelSession !== null && kernelSession !== header.session) watcher.gone();
    kernelSession = header.session;
  };
  let lost = false;
  const connection = (_: unknown, value: string) => {
    if (value === "connected" && lost) watcher.back();
    else if (value !== "connected" && !lost) watcher.lost();
    lost = value !== "connected";
  };
  session.statusChanged?.connect(status);
  session.kernelChanged?.connect(kernel);
  session.connectionStatusChanged?.connect(connection);
  session.iopubMessage?.connect(message);
  signal.addEventListener("abort", () => {
    session.statusChanged?.disconnect(status);
    session.kernelChanged?.disconnect(kernel);
    session.connectionStatusChanged?.disconnect(connection);
    session.iopubMessage?.disconnect(message);
  });
}
