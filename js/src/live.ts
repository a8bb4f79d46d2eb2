// The open document, asked and changed for the kernel: see core/document_protocol.py, which speaks the same words.
//
// A request that is for another page, that comes too late, or that is based on a text that is no longer
// there changes nothing; one that comes twice is carried out once. The operations of one request are
// checked first and then carried out all together, as one step for the user to undo.

import { WIDGET_VIEW } from "./document";
import type { HostCells } from "./cells";
import { sourceHash } from "./hash";
import { fetchesRemote, hasRichHeading } from "./remote";
import { never } from "./types";
import type { DocAnswer, DocOperation, DocRequest, Fields, Json } from "./types";

/** Characters of one message: Jupyter's server closes the connection of a page that sends 10 MB. */
export const PART_CHARS = 1_000_000;
/** Answers that are kept, for requests that come again. */
const KEPT = 64;
/** What may be done at any time: nothing is changed by it. */
const HARMLESS: ReadonlySet<DocRequest["op"]> = new Set(["ping", "describe", "locate"]);

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
    readonly sharedModel?: SharedNotebook;
  };
  readonly contentsModel?: ContentsModel | null;
  save(): Promise<void>;
  revert(): Promise<void>;
  /** Private in JupyterLab: what asks the server. */
  readonly _manager?: {
    readonly contents?: { get(path: string, options: object): Promise<ContentsModel> };
  };
  /** Private too: what the page knows of the file. */
  _updateContentsModel?(model: ContentsModel): void;
}

/** Why a request was not carried out. */
class Refusal extends Error {
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
  answer(request: DocRequest, send: (answer: DocAnswer) => void): Promise<void>;
  /** Puts a cell below the one that shows that widget; at the end if there is none. */
  insertBelow(model: string, source: string, type: string): Promise<void>;
}

/** Finds the host's view of the document. */
export type FindCells = (shared: SharedNotebook) => Promise<HostCells | null>;

/** null where the document cannot be reached, or not in the ways that we need. */
export function liveDocument(
  context: LiveContext | null,
  findCells: FindCells,
  now: () => number = Date.now,
): Live | null {
  const shared = context?.model.sharedModel;
  if (!context || !shared || typeof shared.transact !== "function" || !shared.insertCell)
    return null;
  const answers = new Map<string, Promise<string>>();

  const answered = async (request: DocRequest): Promise<string> => {
    try {
      if (request.until !== null && now() > request.until)
        throw new Refusal("expired", "the request came too late");
      const result = await carriedOut(context, shared, findCells, request);
      return JSON.stringify({ result });
    } catch (error) {
      const code = error instanceof Refusal ? error.code : "failed";
      const message = error instanceof Error ? error.message : String(error);
      return JSON.stringify({ error: { code, message } });
    }
  };

  return {
    async answer(request, send) {
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
    },
    async insertBelow(model, source, type) {
      const showing = shared.cells.find((cell) => shows(cell, model)) ?? shared.cells.at(-1);
      const after = showing ? idOf(showing) : null;
      const made = { op: "insert", id: newId(), after, cell_type: type, source } as const;
      await applied(shared, [{ ...made, metadata: {}, attachments: {} }], findCells);
    },
  };
}

/** Pieces of a text; none ends within a pair of surrogates, which would be no text by itself. */
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
  if (!HARMLESS.has(request.op) && request.until === null)
    throw new Refusal("expired", "the request does not say how long it holds");
  switch (request.op) {
    case "ping":
      return null;
    case "describe":
      return { ...where(context), notebook: notebookOf(context, shared) };
    case "locate":
      return {
        ...where(context),
        file: factsOf(await fileOf(context)),
        known: factsOf(context.contentsModel),
      };
    case "apply":
      return request.holds
        ? adopted(context, shared, findCells, request.operations, request.holds)
        : applied(shared, request.operations, findCells);
    case "save":
      await context.save();
      return null;
    case "refresh":
      return refreshed(context);
    default:
      return never(request);
  }
}

function where({ path, model }: LiveContext): Fields {
  return { path, dirty: model.dirty };
}

/** As it would be saved now, but with an id for every cell, also where the format has none. */
function notebookOf(context: LiveContext, shared: SharedNotebook): Json {
  const notebook = context.model.toJSON() as Fields;
  const cells = notebook["cells"];
  if (!Array.isArray(cells) || cells.length !== shared.cells.length)
    throw new Refusal("failed", "the document is just being changed");
  const named = cells.map((cell, at) => {
    const shown = shared.cells[at];
    return { ...(cell as Fields), id: shown ? idOf(shown) : null };
  });
  return { ...notebook, cells: named };
}

// ---- the file

/** What the server tells of the file as it is now; else what it told when the page last met it. */
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

/** Take what changed in the file into the document; then saving need not ask whether to overwrite it. */
async function adopted(
  context: LiveContext,
  shared: SharedNotebook,
  findCells: FindCells,
  operations: readonly DocOperation[],
  hash: string,
): Promise<Applied> {
  const file = await fileOf(context);
  if (file?.hash !== hash) throw new Refusal("stale", "the file was changed once more");
  const done = await applied(shared, operations, findCells);
  context._updateContentsModel?.({ ...context.contentsModel, ...file });
  return done;
}

/** The file may have been changed by others: the tab follows, unless something in it is not saved. */
async function refreshed(context: LiveContext): Promise<"same" | "reloaded" | "unsaved"> {
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

/** As notebooks have it: one text, or its lines. */
function textOf(source: Json | undefined): string {
  return Array.isArray(source) ? source.join("") : String(source ?? "");
}

/** A file may have a number there, which the host keeps as it is. */
function idOf(cell: SharedCell): string {
  return String(cell.getId?.() ?? cell.id ?? "");
}

/** The markdown cells that were left as they are written, if there are any. */
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
      "a markdown cell would load something from elsewhere, and this page cannot prevent it",
    );
  check(shared, operations);
  for (const id of unrendered) cells?.unrender(id); // those that are there already
  const later = new Map<string, string>();
  asOneStep(
    shared,
    operations,
    () => {
      const now = new Cells(shared, new Set(unrendered), later);
      for (const operation of operations) carryOut(shared, now, operation);
      // Hosts put a cell into an empty notebook, as a step of their own that no undo gets past.
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

/** The markdown cells into which something comes that would be fetched from elsewhere. */
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
        "a picture in a heading would be loaded as soon as the cell is there: put it below the heading",
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
    if (op === "insert" && sources.has(id))
      throw new Refusal("stale", `there is a cell ${id} already`);
    if ("based_on" in operation) {
      const source = sources.get(id ?? "");
      if (source === undefined) throw new Refusal("stale", `the cell ${id} is not there any more`);
      if (sourceHash(source) !== operation.based_on)
        throw new Refusal("stale", `the cell ${id} was changed`);
    } else if (op === "metadata" && id !== null && !sources.has(id))
      throw new Refusal("stale", `the cell ${id} is not there any more`);
    if ("after" in operation && operation.after !== null && !sources.has(operation.after))
      throw new Refusal("stale", `the cell ${operation.after} is not there any more`);
    // As it is for those that follow: what is inserted can be gone behind, what is deleted cannot.
    if (op === "insert") sources.set(id, operation.source);
    else if (op === "delete") sources.delete(id);
    else if (op === "replace") sources.set(id, operation.source);
  }
}

/** As one step that both the notebook and the changed cells remember, and nothing else with it. `between`
    is called when the host knows of the change, and gives the rest of it. */
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
  const rememberers = [...managers].filter((it) => it?.trackedOrigins !== undefined);
  if (!ydoc || rememberers.length === 0) {
    shared.transact(change);
    const rest = between();
    return rest ? shared.transact(rest) : undefined;
  }
  const origin = {};
  let done = false;
  for (const it of rememberers) {
    it?.stopCapturing?.();
    it?.trackedOrigins?.add(origin);
  }
  try {
    ydoc.transact(change, origin);
    const rest = between();
    if (rest) ydoc.transact(rest, origin); // at once: both are one step to undo
    done = true;
  } finally {
    for (const it of rememberers) {
      it?.trackedOrigins?.delete(origin);
      it?.stopCapturing?.();
    }
    if (!done) shared.undoManager?.undo?.(); // half of it may be there
  }
}

/** The cells as they are within a transaction: the document's own list follows only at its end. */
class Cells {
  readonly #order: string[];
  readonly #cells: Map<string, SharedCell>;

  /** Hosts render a markdown cell as they make it: those of `held` begin empty; `later` gets their texts. */
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
    if (!cell) throw new Refusal("stale", `the cell ${id} is not there any more`);
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

/** A cell of that type and text; it has not run, unless it comes back with what came of that. */
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

/** Only what differs: the user's cursor, in what does not, stays where it is. */
function write(cell: SharedCell, source: string): void {
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

/** Whether this place is within a pair of surrogates: the document must not be cut there. */
function isHalf(text: string, at: number): boolean {
  const sign = text.charCodeAt(at - 1); // not a number at the text's beginning
  const next = text.charCodeAt(at);
  return sign >= 0xd800 && sign <= 0xdbff && next >= 0xdc00 && next <= 0xdfff;
}

function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
