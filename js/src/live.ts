// Reads and changes the open document for the kernel; the protocol is in core/document_protocol.py.
//
// A request for another page, past its deadline or based on an outdated text changes nothing; a repeated one
// is carried out once. The operations of a request are all checked first, then carried out together, as one
// step that the user can undo.

import { previousIn, WIDGET_VIEW } from "./document";
import type { HostCells, Kernel } from "./host_cells";
import { sourceHash } from "./source_hash";
import { fetchesRemote, hasRichHeading } from "./remote_content";
import { never } from "./types";
import type {
  CellSource,
  DocIntent,
  DocOperation,
  DocRequest,
  Fields,
  Json,
  OutputsRequest,
} from "./types";

/** Characters of one message: Jupyter's server closes the connection of a page that sends 10 MB. */
export const PART_CHARS = 1_000_000;
/** Answers that are kept, for requests that come again. */
const KEPT = 64;
/** Requests without a deadline: they change nothing. */
const HARMLESS: ReadonlySet<DocRequest["op"]> = new Set([
  "ping",
  "describe",
  "locate",
  "previous",
  "text",
]);

// ---- what we use of the host

interface SharedCell {
  readonly id?: string;
  getId?(): string;
  readonly cell_type: string;
  getSource(): string;
  setSource(source: string): void;
  updateSource?(start: number, end: number, value: string): void;
  setMetadata(metadata: Fields): void;
  getMetadata(): Json | undefined;
  setOutputs?(outputs: Json[]): void;
  execution_count?: number | null;
  /** Since JupyterLab 4.3. */
  executionState?: string;
  setAttachments?(attachments: Fields | undefined): void;
  toJSON(): Json;
  readonly undoManager?: UndoManager | null;
}

interface UndoManager {
  readonly trackedOrigins?: Set<unknown>;
  stopCapturing?(): void;
  undo?(): unknown;
}

export interface SharedNotebook {
  readonly cells: readonly SharedCell[];
  insertCell(at: number, cell: Fields): SharedCell;
  deleteCell(at: number): void;
  getMetadata(): Json | undefined;
  setMetadata(metadata: Fields): void;
  transact(change: () => void): void;
  readonly ydoc?: { transact(change: () => void, origin: unknown): void };
  readonly undoManager?: UndoManager;
}

interface ContentsModel {
  readonly path?: string;
  readonly last_modified?: string;
  readonly size?: number;
  readonly hash?: string;
  readonly hash_algorithm?: string;
}

export interface LiveContext {
  readonly path: string;
  readonly model: {
    toJSON(): Json;
    dirty: boolean;
    /** The server saves it, and loads it again when the file changes. */
    readonly collaborative?: boolean;
    readonly sharedModel?: SharedNotebook;
  };
  readonly contentsModel?: ContentsModel | null;
  readonly sessionContext?: { readonly session?: { readonly kernel?: Kernel | null } | null };
  save(): Promise<void>;
  revert(): Promise<void>;
  /** Private in JupyterLab: the client of the contents API, and the user. */
  readonly _manager?: {
    readonly user?: {
      readonly identity?: { readonly display_name?: string; readonly username?: string } | null;
    };
    readonly contents?: { get(path: string, options: object): Promise<ContentsModel> };
  };
  /** Private too: updates what the page knows of the file. */
  _updateContentsModel?(model: ContentsModel): void;
}

/** Why a request was not carried out. */
export class Refusal extends Error {
  constructor(
    readonly code: "expired" | "stale" | "failed",
    message: string,
  ) {
    super(message);
  }
}

// ---- answering

export interface Live {
  /** Answers by messages; there can be several for one request. */
  answer(request: DocRequest, send: (answer: DocIntent) => void): Promise<void>;
  /** Inserts a cell below the one that shows that widget, or at the end. */
  insertBelow(
    model: string,
    source: string,
    type: string,
    outputs?: readonly Json[],
  ): Promise<void>;
}

/** Finds the host's view of the document. */
export type FindCells = (shared: SharedNotebook) => Promise<HostCells | null>;

/** null if the document cannot be reached, or lacks a method that we need. */
export function liveDocument(
  context: LiveContext | null,
  findCells: FindCells,
  now: () => number = Date.now,
  /** The cell that shows a widget, if the kernel has said: a shared document does not have the widget. */
  cellOf: (model: string) => string | undefined = () => undefined,
): Live | null {
  const shared = context?.model.sharedModel;
  if (!context || !shared || typeof shared.transact !== "function" || !shared.insertCell)
    return null;
  return {
    answer: answering((request) => carriedOut(context, shared, findCells, request), now),
    async insertBelow(model, source, type, outputs = []) {
      const known = cellOf(model);
      const showing =
        shared.cells.find((cell) => idOf(cell) === known || shows(cell, model)) ??
        shared.cells.at(-1);
      const after = showing ? idOf(showing) : null;
      const made = { op: "insert", id: newId(), after, cell_type: type, source } as const;
      await applied(shared, [{ ...made, metadata: {}, attachments: {}, outputs }], findCells);
    },
  };
}

/** Answers a request at most once, in time, and in parts. */
export function answering(
  carryOut: (request: DocRequest) => Promise<Json>,
  now: () => number = Date.now,
): Live["answer"] {
  const answers = new Map<string, Promise<string>>();

  const answered = async (request: DocRequest): Promise<string> => {
    try {
      if (request.until !== null && now() > request.until)
        throw new Refusal("expired", "the request came too late");
      if (!HARMLESS.has(request.op) && request.until === null)
        throw new Refusal("expired", "the request has no deadline");
      const result = await carryOut(request);
      return JSON.stringify({ result });
    } catch (error) {
      const code = error instanceof Refusal ? error.code : "failed";
      const message = error instanceof Error ? error.message : String(error);
      return JSON.stringify({ error: { code, message } });
    }
  };

  return async (request, send) => {
    let making = answers.get(request.rid);
    if (!making) {
      answers.set(request.rid, (making = answered(request)));
      const [oldest] = answers.keys();
      if (answers.size > KEPT && oldest !== undefined) answers.delete(oldest);
    }
    const parts = split(await making);
    const { view, rid } = request;
    parts.forEach((text, part) =>
      send({ t: "doc", view, rid, text, part, of: parts.length, now: now() }),
    );
  };
}

/** Split a text into parts, never within a surrogate pair. */
export function split(text: string, size = PART_CHARS): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length || parts.length === 0;) {
    let end = Math.min(at + size, text.length);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end += 1;
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

async function carriedOut(
  context: LiveContext,
  shared: SharedNotebook,
  findCells: FindCells,
  request: DocRequest,
): Promise<Json> {
  switch (request.op) {
    case "ping":
      return null;
    case "describe":
      return { ...where(context), notebook: notebookOf(context, shared) };
    case "locate":
      return located(context);
    case "previous":
      return previousIn(context.model, request.cell);
    case "apply":
      return request.holds
        ? adopted(context, shared, findCells, request.operations, request.holds)
        : applied(shared, request.operations, findCells);
    case "save":
      await context.save();
      return null;
    case "refresh":
      return refreshed(context);
    case "outputs":
      return showOutputs(shared, request);
    case "run": {
      for (const cell of request.cells) allowed(shared, cell);
      const cells = await findCells(shared);
      if (!cells) throw new Refusal("failed", "no view of the notebook was found in this page");
      return executed(context, shared, cells, request.cells);
    }
    case "text":
    case "write":
      throw new Refusal("failed", "it is a notebook");
    default:
      return never(request);
  }
}

/** Where the document is, and the file there. */
export async function located(context: LiveContext): Promise<Fields> {
  const file = factsOf(await fileOf(context));
  const known = context.model.collaborative ? file : factsOf(context.contentsModel);
  return { ...where(context), file, known };
}

function where({ path, model }: LiveContext): Fields {
  return { path, dirty: model.dirty };
}

/** As it would be saved now, with an id for every cell even where the format has none. */
function notebookOf(context: LiveContext, shared: SharedNotebook): Json {
  const notebook = context.model.toJSON() as Fields;
  const cells = notebook["cells"];
  if (!Array.isArray(cells) || cells.length !== shared.cells.length)
    throw new Refusal("failed", "the document is changing at this moment");
  const named = cells.map((cell, at) => {
    const shown = shared.cells[at];
    return { ...(cell as Fields), id: shown ? idOf(shown) : null };
  });
  return { ...notebook, cells: named };
}

// ---- running cells

function codeCell(shared: SharedNotebook, id: string): SharedCell {
  const cell = shared.cells.find((it) => idOf(it) === id);
  if (!cell || cell.cell_type !== "code")
    throw new Refusal("stale", `there is no code cell ${id} any more`);
  return cell;
}

/** The cell, if it has the source that the request is based on. */
function checked(shared: SharedNotebook, { id, based_on }: OutputsRequest): SharedCell {
  const cell = codeCell(shared, id);
  if (sourceHash(cell.getSource()) !== based_on) throw changed(id);
  return cell;
}

/** The cell, if it has exactly the source that may run. */
function allowed(shared: SharedNotebook, { id, source }: CellSource): SharedCell {
  const cell = codeCell(shared, id);
  if (cell.getSource() !== source) throw changed(id);
  return cell;
}

function changed(id: string): Refusal {
  return new Refusal("stale", `the cell ${id} was changed`);
}

function isAllowed(shared: SharedNotebook, wanted: CellSource): boolean {
  try {
    allowed(shared, wanted);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/** Outputs are not an edit: the host keeps them out of its undo history. */
function showOutputs(shared: SharedNotebook, shown: OutputsRequest): null {
  const cell = checked(shared, shown);
  // Emptied in a step of its own: within one, JupyterLab appends a stream's text to the stream that it then removes.
  cell.setOutputs?.([]);
  cell.setOutputs?.([...shown.outputs]);
  cell.execution_count = shown.execution_count;
  if (cell.executionState !== undefined) cell.executionState = shown.running ? "running" : "idle";
  return null;
}

/**
 * As the host's own run command does: the cell's output area follows the kernel's answers. A cell that
 * changes while those before it run is skipped, and so is all that follows.
 */
async function executed(
  context: LiveContext,
  shared: SharedNotebook,
  host: HostCells,
  wanted: readonly CellSource[],
): Promise<Json> {
  const kernel = context.sessionContext?.session?.kernel;
  if (!kernel) throw new Refusal("failed", "the page has no kernel");
  const ran: Fields[] = [];
  let status: Json = "ok";
  for (const next of wanted) {
    const { id, source } = next;
    if (status !== "ok" || !isAllowed(shared, next)) {
      status = "skipped";
      ran.push({ id, status });
      continue;
    }
    const cell = allowed(shared, next);
    const reply = await host.execute(id, source, kernel);
    status = reply.status === "ok" ? "ok" : "error";
    const execution_count = reply.execution_count ?? null;
    cell.execution_count = execution_count;
    const { outputs = [] } = cell.toJSON() as Fields;
    ran.push({ id, status, execution_count, outputs });
  }
  return ran;
}

// ---- the file

/** The server's facts about the file now; without access, those of the last load or save. */
async function fileOf(context: LiveContext): Promise<ContentsModel | null> {
  const contents = context._manager?.contents;
  if (!contents) return context.contentsModel ?? null;
  return contents.get(context.path, { content: false, hash: true });
}

function factsOf(model: ContentsModel | null | undefined): Json {
  if (!model?.last_modified) return null;
  const { last_modified, size = null, hash = null, hash_algorithm = null } = model;
  return { last_modified, size, hash, hash_algorithm };
}

/** Adopt the file's changes into the document, so that saving does not ask whether to overwrite the file. */
async function adopted(
  context: LiveContext,
  shared: SharedNotebook,
  findCells: FindCells,
  operations: readonly DocOperation[],
  hash: string,
): Promise<Applied> {
  const known = context.contentsModel;
  const file = await fileOf(context);
  if (file?.hash !== hash) throw new Refusal("stale", "the file changed again");
  const done = await applied(shared, operations, findCells);
  // A save that ended in the meantime knows a newer file. JupyterLab returns a new object at each access.
  const now = context.contentsModel;
  const isSaved = now?.hash !== known?.hash || now?.last_modified !== known?.last_modified;
  if (!isSaved) context._updateContentsModel?.({ ...known, ...file });
  return done;
}

/** Reload the tab if the file changed on disk, unless the tab has unsaved edits. */
async function refreshed(context: LiveContext): Promise<"same" | "reloaded" | "unsaved"> {
  if (context.model.collaborative) return "same";
  const file = await fileOf(context);
  const known = context.contentsModel;
  const same = known?.hash
    ? known.hash === file?.hash
    : known?.last_modified === file?.last_modified;
  if (!file || same) return "same";
  if (context.model.dirty) return "unsaved";
  await context.revert();
  return "reloaded";
}

// ---- changing

/** Whether one of the cell's outputs is a view of that widget. */
function shows(cell: SharedCell, model: string): boolean {
  const { outputs } = cell.toJSON() as Fields;
  return Array.isArray(outputs) && outputs.some((output) => viewed(output) === model);
}

function viewed(output: Json): Json | undefined {
  const view = ((output as Fields)["data"] as Fields | undefined)?.[WIDGET_VIEW];
  return (view as Fields | undefined)?.["model_id"];
}

/** nbformat allows one text, or a list of lines. */
function textOf(source: Json | undefined): string {
  return Array.isArray(source) ? source.join("") : String(source ?? "");
}

/** A file may have a number as an id, and the host keeps it. */
function idOf(cell: SharedCell): string {
  return String(cell.getId?.() ?? cell.id ?? "");
}

/** The markdown cells that were left unrendered, if there are any. */
type Applied = { unrendered: string[] } | null;

/** All of them or none. */
async function applied(
  shared: SharedNotebook,
  operations: readonly DocOperation[],
  findCells: FindCells,
): Promise<Applied> {
  const unrendered = remoteCells(shared, operations);
  const cells = unrendered.length > 0 ? await findCells(shared) : null;
  if (unrendered.length > 0 && !cells)
    throw new Refusal(
      "failed",
      "a markdown cell would load remote content, and this page cannot prevent it",
    );
  check(shared, operations);
  for (const id of unrendered) cells?.unrender(id); // those that exist already
  const later = new Map<string, string>();
  asOneStep(
    shared,
    operations,
    () => {
      const now = new Cells(shared, new Set(unrendered), later);
      for (const operation of operations) carryOut(shared, now, operation);
      // Hosts add a cell to an empty notebook in a step of their own that undo cannot cross.
      if (now.empty) now.insert(0, newId(), { ...blank(NOTHING), metadata: {} });
    },
    () => {
      if (later.size === 0) return null;
      for (const id of later.keys()) cells?.unrender(id);
      return () => {
        for (const cell of shared.cells) {
          const source = later.get(idOf(cell));
          if (source !== undefined) cell.setSource(source);
        }
      };
    },
  );
  return unrendered.length > 0 ? { unrendered } : null;
}

/** The markdown cells that would fetch remote content. */
function remoteCells(shared: SharedNotebook, operations: readonly DocOperation[]): string[] {
  const old = new Map(shared.cells.map((cell) => [idOf(cell), cell]));
  const ids = operations.flatMap((operation) => {
    const { op, id } = operation;
    if (op === "move") {
      const cell = old.get(id);
      return cell?.cell_type === "markdown" && fetchesRemote(cell.getSource()) ? [id] : [];
    }
    if (op !== "insert" && op !== "replace") return [];
    const { cell_type, source } = operation;
    if (cell_type === "markdown" && fetchesRemote(source) && hasRichHeading(source))
      throw new Refusal(
        "failed",
        "an image in a heading would be loaded at once: put it below the heading",
      );
    return operation.cell_type === "markdown" && fetchesRemote(operation.source) ? [id] : [];
  });
  return [...new Set(ids)];
}

const NOTHING: Written = { cell_type: "code", source: "", attachments: {} };

function check(shared: SharedNotebook, operations: readonly DocOperation[]): void {
  const sources = new Map(shared.cells.map((cell) => [idOf(cell), cell.getSource()]));
  for (const operation of operations) {
    const { op, id } = operation;
    if (op === "insert" && sources.has(id)) throw new Refusal("stale", `cell ${id} already exists`);
    if ("based_on" in operation) {
      const source = sources.get(id ?? "");
      if (source === undefined) throw new Refusal("stale", `cell ${id} no longer exists`);
      if (sourceHash(source) !== operation.based_on)
        throw new Refusal("stale", `cell ${id} has changed`);
    } else if (op === "metadata" && id !== null && !sources.has(id))
      throw new Refusal("stale", `cell ${id} no longer exists`);
    if ("after" in operation && operation.after !== null && !sources.has(operation.after))
      throw new Refusal("stale", `cell ${operation.after} no longer exists`);
    // Later operations see the effect of earlier ones.
    if (op === "insert") sources.set(id, operation.source);
    else if (op === "delete") sources.delete(id);
    else if (op === "replace") sources.set(id, operation.source);
  }
}

/** Carry out a change as one step in the undo history of the notebook and of the changed cells. `between` is
    called once the host has seen the change, and returns the rest of it. */
function asOneStep(
  shared: SharedNotebook,
  operations: readonly DocOperation[],
  change: () => void,
  between: () => (() => void) | null,
): void {
  const { ydoc } = shared;
  const ids = new Set(operations.filter(({ op }) => op === "replace").map(({ id }) => id));
  const cells = shared.cells.filter((cell) => ids.has(idOf(cell)));
  const managers = new Set([shared.undoManager, ...cells.map((cell) => cell.undoManager)]);
  const undoManagers = [...managers].filter((it) => it?.trackedOrigins !== undefined);
  if (!ydoc || undoManagers.length === 0) {
    shared.transact(change);
    const rest = between();
    return rest ? shared.transact(rest) : undefined;
  }
  const origin = {};
  let done = false;
  for (const it of undoManagers) {
    it?.stopCapturing?.();
    it?.trackedOrigins?.add(origin);
  }
  try {
    ydoc.transact(change, origin);
    const rest = between();
    if (rest) ydoc.transact(rest, origin); // in the same step
    done = true;
  } finally {
    for (const it of undoManagers) {
      it?.trackedOrigins?.delete(origin);
      it?.stopCapturing?.();
    }
    if (!done) shared.undoManager?.undo?.(); // it may be half done
  }
}

/** The cells during a transaction: the document's own list is updated only at its end. */
class Cells {
  readonly #order: string[];
  readonly #cells: Map<string, SharedCell>;

  /** Hosts render a markdown cell when it is created: cells in `held` start empty, their texts go to `later`. */
  constructor(
    private readonly shared: SharedNotebook,
    private readonly held: ReadonlySet<string>,
    private readonly later: Map<string, string>,
  ) {
    this.#order = shared.cells.map(idOf);
    this.#cells = new Map(shared.cells.map((cell) => [idOf(cell), cell]));
  }

  get empty(): boolean {
    return this.#order.length === 0;
  }

  get(id: string): SharedCell {
    const cell = this.#cells.get(id);
    if (!cell) throw new Refusal("stale", `cell ${id} no longer exists`);
    return cell;
  }

  indexOf(id: string): number {
    return this.#order.indexOf(id);
  }

  below(after: string | null): number {
    return after === null ? 0 : this.indexOf(after) + 1;
  }

  insert(at: number, id: string, fields: Fields): void {
    const held = this.held.has(id);
    if (held) this.later.set(id, textOf(fields["source"]));
    const made = { ...fields, id, ...(held ? { source: "" } : {}) };
    this.#cells.set(id, this.shared.insertCell(at, made));
    this.#order.splice(at, 0, id);
  }

  delete(id: string): void {
    this.shared.deleteCell(this.indexOf(id));
    this.#order.splice(this.indexOf(id), 1);
    this.#cells.delete(id);
  }
}

function carryOut(shared: SharedNotebook, now: Cells, operation: DocOperation): void {
  switch (operation.op) {
    case "insert": {
      const { id, after, metadata } = operation;
      return now.insert(now.below(after), id, { ...blank(operation), metadata });
    }
    case "delete":
      return now.delete(operation.id);
    case "move": {
      const { id, after } = operation;
      const cell = now.get(id).toJSON() as Fields;
      now.delete(id);
      return now.insert(now.below(after), id, cell);
    }
    case "replace":
      return replace(now, operation);
    case "metadata": {
      const { id, values, removed } = operation;
      const owner = id === null ? shared : now.get(id);
      const old = Object.entries((owner.getMetadata() ?? {}) as Fields);
      const kept = Object.fromEntries(old.filter(([name]) => !removed.includes(name)));
      return owner.setMetadata({ ...kept, ...values });
    }
    default:
      never(operation);
  }
}

/** A cell of that type and source; without outputs unless they are given. */
function blank({ cell_type, source, attachments, ...run }: Written): Fields {
  if (cell_type === "code") {
    const { outputs = [], execution_count = null } = run;
    return { cell_type, source, outputs: [...outputs], execution_count };
  }
  const pictures = Object.keys(attachments).length > 0 ? { attachments } : {};
  return { cell_type, source, ...pictures };
}

type Written = Pick<
  Extract<DocOperation, { op: "replace" }>,
  "cell_type" | "source" | "attachments" | "outputs" | "execution_count"
>;

function replace(now: Cells, operation: Extract<DocOperation, { op: "replace" }>): void {
  const { id, cell_type, source, attachments } = operation;
  const cell = now.get(id);
  if (cell.cell_type !== cell_type) {
    const { metadata = {} } = cell.toJSON() as Fields;
    const at = now.indexOf(id);
    now.delete(id);
    now.insert(at, id, { ...blank(operation), metadata });
    return;
  }
  write(cell, source);
  if (cell_type !== "code")
    cell.setAttachments?.(Object.keys(attachments).length > 0 ? attachments : undefined);
  const { outputs = [], execution_count = null } = operation;
  if ((operation.clear_outputs || outputs.length > 0) && cell.setOutputs) {
    cell.setOutputs([...outputs]);
    cell.execution_count = execution_count;
  }
}

/** Write only what differs, so that the user's cursor stays where it is. */
export function write(
  cell: Pick<SharedCell, "getSource" | "setSource" | "updateSource">,
  source: string,
): void {
  const old = cell.getSource();
  if (!cell.updateSource) return cell.setSource(source);
  let start = 0;
  const shorter = Math.min(old.length, source.length);
  while (start < shorter && old[start] === source[start]) start++;
  if (isHalf(old, start)) start--;
  let same = 0;
  while (same < shorter - start && old.at(-1 - same) === source.at(-1 - same)) same++;
  if (isHalf(old, old.length - same) || isHalf(source, source.length - same)) same--;
  if (start < Math.max(old.length, source.length))
    cell.updateSource(start, old.length - same, source.slice(start, source.length - same));
}

/** Whether this position is within a surrogate pair: the document must not be cut there. */
function isHalf(text: string, at: number): boolean {
  const sign = text.charCodeAt(at - 1); // NaN at the start of the text
  const next = text.charCodeAt(at);
  return sign >= 0xd800 && sign <= 0xdbff && next >= 0xdc00 && next <= 0xdfff;
}

function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
