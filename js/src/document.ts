// The open document: live here, static in the file. The only code that touches widget_manager.context,
// which only JupyterLab 4 and Notebook 7 have.
//
// The document model's `toJSON` is shadowed once; in what it returns, the outputs that show one of our
// widgets hold the static form instead. So every save writes a file that needs no kernel, and the page
// keeps its view. The shadow stays when a session ends: the file is saved after that, too.
//
// With collaboration the server saves, from the shared document: there the page replaces the contents of our
// outputs. Pages draw an output again when it is removed or inserted, not when its contents change, so the
// views stay, and two pages that write at once leave one output.
//
// A reloaded page finds the widget of an output by its cell: the kernel says which widget each cell shows. So
// the file needs no random ids; where the cell is not known, a note in the output's metadata names the widget.

import { RUNS, TRANSCRIPT, turnOf } from "./static";
import type { Bundle, Fields, Host, Json, Place } from "./types";

export const WIDGET_VIEW = "application/vnd.jupyter.widget-view+json";
/** The key in an output's metadata that says which turn it shows. */
export const NOTE = "acp_notebook";

/** The interval of marking the document as changed during a turn, or of writing into a shared one: autosave is
    far slower. */
export const DIRTY_MS = 5000;
/** The longest wait before a shared document gets the end of a turn; random, so that one page writes it. */
const SHARED_MS = 1000;
/** A reloaded page has created its widgets by then, or has none. */
const RESTORED_MS = 10_000;

/**
 * Makes the static output of a turn (null: of the whole session) from what the output holds now. `elsewhere`: the
 * turns of the session that the same file has in outputs of their own.
 */
export type Provide = (
  turn: string | null,
  present: Bundle,
  elsewhere: ReadonlySet<string>,
) => Bundle;

interface Provider {
  readonly provide: Provide;
  readonly places: () => readonly Place[];
}

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

interface CellModel {
  readonly id?: string;
  readonly outputs?: Outputs;
}

/** A map or a list of a shared document. */
interface SharedEntry {
  get(key: string | number): SharedEntry | undefined;
  set(key: string, value: Json): void;
}

interface SharedDocument {
  toJSON(): Json;
  readonly cells: readonly { readonly ymodel?: SharedEntry }[];
  readonly ydoc?: { transact(change: () => void, origin: unknown): void };
}

interface DocumentModel {
  toJSON(): Json;
  dirty: boolean;
  readonly collaborative?: boolean;
  readonly sharedModel?: SharedDocument;
  readonly cells: { readonly length: number; get(at: number): CellModel };
  [SHADOW]?: Map<string, Provider>;
}

interface KernelMessage {
  readonly header: { readonly session: string; readonly msg_type: string };
  readonly content: { readonly execution_state?: unknown };
}

export interface Context {
  readonly path?: string;
  readonly pathChanged?: HostSignal<string>;
  /** The file was saved, or loaded again. */
  readonly fileChanged?: HostSignal<unknown>;
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
  /** The transcript changed. `final`: a part of it ended, so mark the document at once; `running`: a turn is. */
  touch(final: boolean, running?: boolean): void;
  /** The kernel said where widgets are: show those that the file has as static outputs. */
  placed(): void;
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

/** Keep the file static for this session; null if there is no document. */
export function attach(
  manager: unknown,
  session: string,
  provide: Provide,
  places: () => readonly Place[] = () => [],
): OpenDocument | null {
  const context = contextOf(manager);
  if (!context) return null;
  const { model } = context;
  const providers = (model[SHADOW] ??= shadow(model));
  providers.set(session, { provide, places });
  if (model.collaborative) return shared(model, providers);
  const restoring = { seen: new Set<string>(), session, places };
  void restore(context, manager as Manager, restoring, true);
  const placed = () => void restore(context, manager as Manager, restoring, false);
  context.fileChanged?.connect(() => {
    restoring.seen.clear(); // the host may have loaded the file again, which is static
    placed();
  });
  let touched = -Infinity;
  return {
    touch(final) {
      const shown = [...widgets().values()].some(([owner]) => owner === session);
      const now = Date.now();
      if (!shown || (!final && now - touched < DIRTY_MS)) return;
      touched = now;
      model.dirty = true;
    },
    placed,
  };
}

function shadow(model: DocumentModel): Map<string, Provider> {
  const providers = new Map<string, Provider>();
  const original = model.toJSON.bind(model);
  if (!model.collaborative) model.toJSON = () => substituted(original(), providers);
  return providers;
}

/** Writes into the document that all pages and the server share. */
function shared(model: DocumentModel, providers: ReadonlyMap<string, Provider>): OpenDocument {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let written = -Infinity;
  const write = (wait: number) => {
    timer ??= setTimeout(
      () => {
        timer = null;
        written = Date.now();
        if (model.sharedModel) keepStatic(model.sharedModel, providers);
      },
      Math.max(wait, 0) + Math.random() * SHARED_MS,
    );
  };
  return {
    touch: (_, running = false) => write(running ? written + DIRTY_MS - Date.now() : 0),
    placed: () => write(0),
  };
}

/** Write the static form into our outputs where it differs. */
function keepStatic(document: SharedDocument, providers: ReadonlyMap<string, Provider>): void {
  const cellsOf = (notebook: Json) => (notebook as { cells: Fields[] }).cells;
  const before = document.toJSON();
  const cells = cellsOf(substituted(before, providers, true));
  const changed = cellsOf(before).flatMap(({ outputs }, at) =>
    ((outputs ?? []) as Fields[]).flatMap((old, number) => {
      const now = (cells[at]?.["outputs"] as Fields[])[number];
      const entry = document.cells[at]?.ymodel?.get("outputs")?.get(number);
      const same = !now || !entry || now === old || JSON.stringify(now) === JSON.stringify(old);
      return same ? [] : [{ now, entry }];
    }),
  );
  // Not an edit of the user's: nobody's undo history has this origin.
  document.ydoc?.transact(() => {
    for (const { now, entry } of changed)
      for (const key of ["data", "metadata"]) entry.set(key, now[key] ?? {});
  }, SHADOW);
}

/** What a cell showed of all sessions that the page remembers, as the file would have it, the newest last. */
export function previousIn(model: object, cell: string): Json[] {
  return [...((model as DocumentModel)[SHADOW]?.values() ?? [])].flatMap(({ provide, places }) =>
    places().flatMap((it) => (it.cell === cell ? [{ ...provide(it.turn, {}, new Set()) }] : [])),
  );
}

// ---- what is saved

function isFields(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The notebook with the static form in place of each of our widgets. `also`: and of what is static already. */
export function substituted(
  notebook: Json,
  providers: ReadonlyMap<string, Provider>,
  also = false,
): Json {
  if (!isFields(notebook) || !Array.isArray(notebook["cells"])) return notebook;
  const elsewhere = new Map<string, Set<string>>();
  // Turns first: the output of a whole session refers to those that the file has.
  const withTurns = eachOutput(notebook, (output, cell) => {
    const shown = shownBy(output, providers, also ? cell : null);
    if (shown === null || shown.turn === null) return output;
    const made = staticOutput(shown, cell, new Set(), providers);
    if (TRANSCRIPT in made.data) {
      const turns = elsewhere.get(shown.session) ?? new Set();
      elsewhere.set(shown.session, turns.add(shown.turn));
    }
    return made;
  });
  return eachOutput(withTurns, (output, cell) => {
    const shown = shownBy(output, providers, also ? cell : null);
    return shown?.turn === null
      ? staticOutput(shown, cell, elsewhere.get(shown.session) ?? new Set(), providers)
      : output;
  });
}

function eachOutput(notebook: Fields, change: (output: Json, cell: Fields) => Json): Fields {
  const cells = (notebook["cells"] as Json[]).map((cell) => {
    if (!isFields(cell) || !Array.isArray(cell["outputs"])) return cell;
    return { ...cell, outputs: cell["outputs"].map((output) => change(output, cell)) };
  });
  return { ...notebook, cells };
}

/** An output that shows a widget of ours. */
interface Shown {
  readonly output: Fields;
  /** What it holds besides the widget. */
  readonly present: Bundle;
  readonly model: string;
  readonly session: string;
  readonly turn: string | null;
  readonly provider: Provider;
}

/** `cell`: the one that has it; then also an output that shows no widget, if it is known to be ours. */
function shownBy(
  output: Json,
  providers: ReadonlyMap<string, Provider>,
  cell: Fields | null,
): Shown | null {
  if (!isFields(output) || !isFields(output["data"])) return null;
  const { [WIDGET_VIEW]: view, ...present } = output["data"];
  const model = isFields(view) ? view["model_id"] : undefined;
  if (typeof model !== "string") {
    for (const [session, provider] of cell ? newestFirst(providers) : []) {
      const here = provider.places().filter((it) => it.cell === cell?.["id"]);
      const found = widgetOf(output, session, here);
      if (found)
        return { output, present, session, provider, model: found.model, turn: found.turn };
    }
    return null;
  }
  const [session, turn] = widgets().get(model) ?? [model, null];
  const provider = providers.get(session);
  return provider ? { output, present, model, session, turn, provider } : null;
}

/** Whether another session has a turn of the same name in the same cell: then only a note tells them apart. */
function hasRival(
  { provider }: Shown,
  { cell, turn }: Place,
  { outputs }: Fields,
  providers: ReadonlyMap<string, Provider>,
): boolean {
  return (outputs as Json[]).some((it) => {
    const other = shownBy(it, providers, { id: cell })?.provider ?? provider;
    return other !== provider && other.places().some((at) => at.cell === cell && at.turn === turn);
  });
}

function staticOutput(
  shown: Shown,
  cell: Fields,
  elsewhere: ReadonlySet<string>,
  providers: ReadonlyMap<string, Provider>,
) {
  const { output, present, model, session, turn, provider } = shown;
  const { [NOTE]: note, ...metadata } = isFields(output["metadata"]) ? output["metadata"] : {};
  // Besides ours, there is only the widget's own text.
  const ours = isFields(note) || isOurs(present);
  const data = nonEmpty(() => provider.provide(turn, ours ? present : {}, elsewhere));
  const place = provider.places().find((it) => it.model === model && it.cell === cell["id"]);
  const known = place && isOurs(data) && !hasRival(shown, place, cell, providers);
  const named = known ? {} : { [NOTE]: { model_id: model, session, turn } };
  return { ...output, data, metadata: { ...metadata, ...named } };
}

function isOurs(data: object): boolean {
  return TRANSCRIPT in data || RUNS in data;
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

interface Restoring {
  readonly session: string;
  readonly places: () => readonly Place[];
  /** The widgets whose places were looked at. */
  readonly seen: Set<string>;
}

/** The file is static, but the kernel still has the widgets: show them where they were. `all`: also by notes. */
async function restore(
  context: Context,
  manager: Manager,
  { session, places, seen }: Restoring,
  all: boolean,
): Promise<void> {
  await context.ready;
  await restored(manager);
  const { model } = context;
  const wasDirty = model.dirty;
  const known = places().filter((it) => !seen.has(it.model) && manager.has_model?.(it.model));
  known.forEach((it) => seen.add(it.model));
  for (let at = 0; (all || known.length > 0) && at < model.cells.length; at++) {
    const { id, outputs } = model.cells.get(at);
    const here = known.filter(({ cell }) => cell === id);
    if (!all && here.length === 0) continue;
    for (let number = 0; outputs && number < outputs.length; number++) {
      const output = outputs.get(number).toJSON();
      const live = liveOutput(output, manager, session, here);
      if (live) outputs.set(number, live); // one render; setData would make two
    }
  }
  if (!wasDirty && model.dirty) model.dirty = false;
}

function liveOutput(
  output: Json,
  manager: Manager,
  session: string,
  here: readonly Place[],
): Json | null {
  if (!isFields(output) || !isFields(output["data"]) || WIDGET_VIEW in output["data"]) return null;
  const shown = widgetOf(output, session, here);
  if (!shown || !manager.has_model?.(shown.model)) return null;
  registerWidget(shown.model, session, shown.turn);
  const view = { version_major: 2, version_minor: 0, model_id: shown.model };
  return { ...output, data: { ...output["data"], [WIDGET_VIEW]: view } };
}

/** Turns of an earlier kernel in the same cell have the same ids: the newest session is asked first. */
export function newestFirst<T>(sessions: Iterable<T>): T[] {
  return [...sessions].reverse();
}

/** The session's widget that an output shows: the one that its note names, else the one displayed in its cell. */
function widgetOf(
  output: Fields,
  session: string,
  here: readonly Place[],
): Omit<Place, "cell"> | null {
  const { metadata, data } = output;
  const note = isFields(metadata) ? metadata[NOTE] : undefined;
  if (!isFields(note)) {
    if (!isFields(data)) return null;
    const turn = RUNS in data ? RUNS : turnOf(data[TRANSCRIPT]);
    return here.find((it) => it.turn === turn) ?? null;
  }
  const { model_id: model, turn } = note;
  if (note["session"] !== session || typeof model !== "string") return null;
  return { model, turn: typeof turn === "string" ? turn : null };
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
