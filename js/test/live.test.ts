import { crc32 } from "node:zlib";
import { expect, test, vi } from "vitest";
import { sourceHash } from "../src/source_hash";
import type { HostCells } from "../src/host_cells";
import { liveDocument, split } from "../src/live";
import type { LiveContext } from "../src/live";
import type { DocIntent, DocOperation, DocRequest, Fields, Json } from "../src/types";

// ---- a document that is only played

class Cell {
  outputs: Json[] = [];
  execution_count: number | null = null;
  metadata: Fields = {};
  attachments: Fields | undefined;
  undoManager = { trackedOrigins: new Set<unknown>(), stopCapturing: vi.fn() };
  constructor(
    readonly id: string,
    readonly cell_type: string,
    public source: string,
  ) {}
  getId = () => this.id;
  getSource = () => this.source;
  setSource = (source: string) => void (this.source = source);
  updateSource = (start: number, end: number, value: string) => {
    const half = (at: number) => /^[\ud800-\udbff]$/.test(this.source[at - 1] ?? "");
    if (half(start) || half(end)) throw new Error("cut within a pair");
    this.source = this.source.slice(0, start) + value + this.source.slice(end);
  };
  getMetadata = () => this.metadata;
  setMetadata = (metadata: Fields) => void (this.metadata = metadata);
  setOutputs = (outputs: Json[]) => void (this.outputs = outputs);
  setAttachments = (attachments: Fields | undefined) => void (this.attachments = attachments);
  toJSON = (): Json => ({
    id: this.id,
    cell_type: this.cell_type,
    source: this.source,
    metadata: this.metadata,
    ...(this.cell_type === "code" ? { outputs: this.outputs } : {}),
  });
}

function makeCell(fields: Fields): Cell {
  const cell = new Cell(
    fields["id"] as string,
    fields["cell_type"] as string,
    fields["source"] as string,
  );
  cell.metadata = (fields["metadata"] ?? {}) as Fields;
  cell.outputs = (fields["outputs"] ?? []) as Json[];
  cell.attachments = fields["attachments"] as Fields | undefined;
  return cell;
}

function opened(...sources: string[]) {
  const cells = sources.map((source, at) => new Cell(`c${at}`, "code", source));
  const inner = [...cells]; // as in JupyterLab, the list of cells follows when a transaction has ended
  const transactions: unknown[] = [];
  const shared = {
    cells,
    metadata: { kernelspec: { name: "python3" } } as Fields,
    insertCell: (at: number, fields: Fields) => {
      const cell = makeCell(fields);
      inner.splice(at, 0, cell);
      return cell;
    },
    deleteCell: (at: number) => void inner.splice(at, 1),
    getMetadata: () => shared.metadata,
    setMetadata: (metadata: Fields) => void (shared.metadata = metadata),
    transact: (change: () => void) => change(),
    undoManager: { trackedOrigins: new Set<unknown>(), stopCapturing: vi.fn(), undo: vi.fn() },
    ydoc: {
      transact: (change: () => void, origin: unknown) => {
        transactions.push(origin);
        expect(shared.undoManager.trackedOrigins.has(origin)).toBe(true);
        change();
        cells.splice(0, cells.length, ...inner);
      },
    },
  };
  const disk = {
    last_modified: "2026-01-01T00:00:00Z",
    size: 1,
    hash: "h1",
    hash_algorithm: "sha256",
  };
  const context = {
    path: "work/a.ipynb",
    model: {
      dirty: false,
      sharedModel: shared,
      toJSON: () => ({ cells: cells.map((cell) => cell.toJSON()), metadata: {}, nbformat: 4 }),
    },
    known: { ...disk },
    get contentsModel() {
      return { ...this.known }; // a new object each time, as in JupyterLab
    },
    save: vi.fn(() => Promise.resolve()),
    revert: vi.fn(() => Promise.resolve()),
    _updateContentsModel: vi.fn(),
    _manager: { contents: { get: () => Promise.resolve(disk) } },
  };
  const clock = { now: 1000 };
  const host: { cells: HostCells | null } = { cells: null };
  const find = () => Promise.resolve(host.cells);
  const live = liveDocument(context as unknown as LiveContext, find, () => clock.now);
  if (!live) throw new Error("not reachable");
  let number = 0;
  const ask = async (fields: Record<string, unknown>) => {
    const sent: DocIntent[] = [];
    const request = { t: "doc", view: "v", rid: `r${++number}`, until: 2000, ...fields };
    await live.answer(request as unknown as DocRequest, (answer) => sent.push(answer));
    return JSON.parse(sent.map(({ text }) => text).join("")) as Record<string, never>;
  };
  const apply = (...operations: DocOperation[]) => ask({ op: "apply", operations });
  const texts = () => cells.map(({ source }) => source);
  return { live, ask, apply, cells, shared, context, disk, clock, host, texts, transactions };
}

const execute = () => Promise.reject(new Error("not expected"));

const insert = (id: string, after: string | null, source: string): DocOperation => ({
  op: "insert",
  id,
  after,
  cell_type: "code",
  source,
  metadata: {},
  attachments: {},
});
const replaced = (id: string, old: string, source: string, type = "code"): DocOperation => ({
  op: "replace",
  id,
  based_on: sourceHash(old),
  cell_type: type,
  source,
  clear_outputs: true,
  attachments: {},
});
const deleted = (id: string, old: string): DocOperation => ({
  op: "delete",
  id,
  based_on: sourceHash(old),
});

// ---- checksums

// The same values as in tests/core/ipynb/test_views.py.
test.each([
  ["", "0-00000000"],
  ["é🙂\n", "7-e83f2b49"],
])("%j has the same checksum as in the kernel", (text, expected) => {
  expect(sourceHash(text)).toBe(expected);
});

test.each(["x = 1", "a".repeat(64), "b".repeat(999)])(
  "%j has the same CRC-32 as in zlib",
  (text) => {
    const crc = crc32(text).toString(16).padStart(8, "0");
    expect(sourceHash(text)).toBe(`${text.length}-${crc}`);
  },
);

test("a lone surrogate is encoded as the kernel does", () => {
  expect(sourceHash("\ud800")).toBe(sourceHash("\ufffd"));
});

// ---- asking

test("the document is described with its unsaved text, and an id for every cell", async () => {
  const { ask, cells } = opened("a", "b");
  (cells[1] as Cell).source = "b, not saved";
  const { result } = await ask({ op: "describe" });
  expect(result).toMatchObject({
    path: "work/a.ipynb",
    dirty: false,
    notebook: {
      cells: [
        { id: "c0", source: "a" },
        { id: "c1", source: "b, not saved" },
      ],
    },
  });
});

test("long answers are split into parts, never within a character", async () => {
  expect(split("ab😀cd", 3)).toEqual(["ab😀", "cd"]);
  expect(split("", 3)).toEqual([""]);
  expect(split("abcdef", 3)).toEqual(["abc", "def"]);
});

test("the file is described as the server knows it", async () => {
  const { ask, disk } = opened("a");
  expect((await ask({ op: "locate" }))["result"]).toEqual({
    path: "work/a.ipynb",
    dirty: false,
    file: disk,
    known: disk,
  });
});

// ---- changing

test("all operations are one transaction that is undone as one", async () => {
  const { apply, texts, transactions, shared, cells } = opened("a", "b", "c");
  (cells[1] as Cell).outputs = [{ output_type: "stream" }];
  const answer = await apply(
    deleted("c0", "a"),
    replaced("c1", "b", "b2"),
    insert("n1", "c1", "new"),
    insert("n2", "n1", "newer"),
    { op: "move", id: "c2", after: null, based_on: sourceHash("c") },
    { op: "metadata", id: "c1", values: { tags: ["x"] }, removed: [] },
    { op: "metadata", id: null, values: { title: "t" }, removed: ["kernelspec"] },
  );
  expect(answer).toEqual({ result: null });
  expect(texts()).toEqual(["c", "b2", "new", "newer"]);
  expect(cells[1]).toMatchObject({ id: "c1", outputs: [], metadata: { tags: ["x"] } });
  expect(shared.metadata).toEqual({ title: "t" });
  expect(transactions).toHaveLength(1);
  expect(shared.undoManager.trackedOrigins.size).toBe(0);
  expect((cells[1] as Cell).undoManager.stopCapturing).toHaveBeenCalledTimes(2);
});

test("a notebook that is emptied gets a blank cell in the same step", async () => {
  const { apply, texts, transactions } = opened("a", "b");
  expect(await apply(deleted("c0", "a"), deleted("c1", "b"))).toEqual({ result: null });
  expect(texts()).toEqual([""]);
  expect(transactions).toHaveLength(1);
});

test.each<[string, DocOperation]>([
  ["a changed cell", replaced("c1", "not b", "x")],
  ["a cell that is gone", deleted("c9", "b")],
  ["a place that is gone", insert("n", "c9", "x")],
  ["an id that is taken", insert("c1", null, "x")],
  ["metadata of a cell that is gone", { op: "metadata", id: "c9", values: {}, removed: [] }],
  ["a cell that was deleted just before", replaced("c0", "a", "x")],
])("one stale operation, and nothing is done: %s", async (_, operation) => {
  const { apply, texts } = opened("a", "b");
  const { error } = await apply(deleted("c0", "a"), insert("n0", null, "new"), operation);
  expect(error).toMatchObject({ code: "stale" });
  expect(texts()).toEqual(["a", "b"]);
});

test("a request that is too late, or has no deadline, changes nothing", async () => {
  const { ask, clock, texts, context } = opened("a");
  clock.now = 2001;
  const operations = [deleted("c0", "a")];
  for (const until of [2000, null])
    expect((await ask({ op: "apply", until, operations }))["error"]).toMatchObject({
      code: "expired",
    });
  expect((await ask({ op: "save", until: null }))["error"]).toMatchObject({ code: "expired" });
  expect(context.save).not.toHaveBeenCalled();
  expect(texts()).toEqual(["a"]);
});

test("a repeated request is executed once, and answered twice", async () => {
  const { ask, texts } = opened("a");
  const request = { op: "apply", rid: "same", operations: [insert("n", "c0", "new")] };
  expect(await ask(request)).toEqual({ result: null });
  expect(await ask(request)).toEqual({ result: null });
  expect(texts()).toEqual(["a", "new"]);
});

test("only what differs in a text is written, and no character is cut", async () => {
  const { apply, cells, texts } = opened("one 😀 three");
  const update = vi.spyOn(cells[0] as Cell, "updateSource");
  expect(await apply(replaced("c0", "one 😀 three", "one 😁 three"))).toEqual({ result: null });
  expect(texts()).toEqual(["one 😁 three"]);
  expect(update).toHaveBeenCalledWith(4, 6, "😁");
});

test("a cell of another type keeps its id and place", async () => {
  const { apply, cells } = opened("a", "b");
  await apply(replaced("c0", "a", "# A", "markdown"));
  expect(cells.map(({ id, cell_type }) => [id, cell_type])).toEqual([
    ["c0", "markdown"],
    ["c1", "code"],
  ]);
});

test("a restored cell has its earlier outputs", async () => {
  const { apply, cells } = opened("a");
  const outputs = [{ output_type: "stream", name: "stdout", text: "x" }];
  const run = { outputs, execution_count: 7 };
  await apply(
    { ...replaced("c0", "a", "b"), ...run } as DocOperation,
    {
      ...insert("n", "c0", "c"),
      ...run,
    } as DocOperation,
  );
  expect(cells.map((cell) => cell.toJSON())).toMatchObject([{ outputs }, { outputs }]);
});

test("a host that fails in the middle leaves nothing behind", async () => {
  const { apply, shared } = opened("a");
  shared.deleteCell = () => {
    throw new Error("no");
  };
  const { error } = await apply(insert("n", "c0", "x"), deleted("c0", "a"));
  expect(error).toMatchObject({ code: "failed", message: "no" });
  expect(shared.undoManager.undo).toHaveBeenCalledOnce();
});

// ---- the file on disk

test.each([
  [false, "h1", "same", 0],
  [true, "h1", "same", 0],
  [false, "h2", "reloaded", 1],
  [true, "h2", "unsaved", 0],
])("changed on disk: unsaved %s, hash %s -> %s", async (dirty, hash, became, reverts) => {
  const { ask, context, disk } = opened("a");
  context.model.dirty = dirty;
  disk.hash = hash;
  expect(await ask({ op: "refresh" })).toEqual({ result: became });
  expect(context.revert).toHaveBeenCalledTimes(reverts);
});

test("changes in the file are adopted, and count as known", async () => {
  const { ask, context, disk, texts } = opened("a");
  disk.hash = "h2";
  const operations = [replaced("c0", "a", "b")];
  expect((await ask({ op: "apply", operations, holds: "h3" }))["error"]).toMatchObject({
    code: "stale",
  });
  expect(texts()).toEqual(["a"]);
  expect(await ask({ op: "apply", operations, holds: "h2" })).toEqual({ result: null });
  expect(texts()).toEqual(["b"]);
  expect(context._updateContentsModel).toHaveBeenCalledWith(disk);
});

test("what a save knows is not replaced by an older file", async () => {
  const { ask, context, disk } = opened("a");
  context._manager.contents.get = () => {
    context.known = { ...disk, hash: "h3" }; // a save ends while the answer is on its way
    return Promise.resolve({ ...disk, hash: "h2" });
  };
  expect(await ask({ op: "apply", operations: [], holds: "h2" })).toEqual({ result: null });
  expect(context._updateContentsModel).not.toHaveBeenCalled();
});

// ---- for the user's hand

test("a cell is inserted below the one that shows the widget, else at the end", () => {
  const { live, cells, texts } = opened("a", "b");
  const view = { "application/vnd.jupyter.widget-view+json": { model_id: "m" } };
  (cells[0] as Cell).outputs = [{ output_type: "display_data", data: view, metadata: {} }];
  void live.insertBelow("m", "below a", "code");
  void live.insertBelow("other", "last", "markdown");
  expect(texts()).toEqual(["a", "below a", "b", "last"]);
  const outputs = [{ output_type: "stream", name: "stdout", text: "x" }];
  void live.insertBelow("m", "with outputs", "code", outputs);
  expect(cells[1]?.toJSON()).toMatchObject({ source: "with outputs", outputs });
});

test("without access to the document there is nothing", () => {
  const find = () => Promise.resolve(null);
  expect(liveDocument(null, find)).toBeNull();
  expect(liveDocument({ model: {} } as unknown as LiveContext, find)).toBeNull();
});

// ---- what would be fetched from elsewhere

const REMOTE = "![x](https://evil.example/x)";

test("a markdown cell with remote content is left unrendered", async () => {
  const { apply, cells, host, texts, transactions } = opened("# Title", "code");
  Object.assign(cells[0] as Cell, { cell_type: "markdown" });
  const steps: string[] = [];
  host.cells = { execute, unrender: (id) => void steps.push(`${id}: ${texts().join("|")}`) };
  const inserted = { ...insert("new", "c0", REMOTE), cell_type: "markdown" } as DocOperation;
  const changed = `# Title\n\n${REMOTE}`;
  const answer = await apply(inserted, replaced("c0", "# Title", changed, "markdown"));
  expect(answer).toEqual({ result: { unrendered: ["new", "c0"] } });
  expect(steps).toEqual([
    "new: # Title|code",
    "c0: # Title|code",
    `new: ${changed}||code`, // there, and still empty
  ]);
  expect(texts()).toEqual([changed, REMOTE, "code"]);
  expect(new Set(transactions).size).toBe(1); // one step to undo
});

test.each([`# Title ${REMOTE}`, `Title ${REMOTE}\n---`, "<h1><img src=//evil.example></h1>"])(
  "an image in a heading is refused, as the host's table of contents would load it: %j",
  async (source) => {
    const { apply, host, texts } = opened("a");
    host.cells = { execute, unrender: () => undefined };
    const inserted = { ...insert("new", "c0", source), cell_type: "markdown" } as DocOperation;
    expect(await apply(inserted)).toMatchObject({ error: { code: "failed" } });
    expect(texts()).toEqual(["a"]);
  },
);

test("so is one that is moved", async () => {
  const { apply, cells, host, texts } = opened(REMOTE, "code");
  Object.assign(cells[0] as Cell, { cell_type: "markdown" });
  const steps: string[] = [];
  host.cells = { execute, unrender: () => void steps.push(texts().join("|")) };
  await apply({ op: "move", id: "c0", after: "c1", based_on: sourceHash(REMOTE) });
  expect(steps).toEqual([`${REMOTE}|code`, "code|"]);
  expect(texts()).toEqual(["code", REMOTE]);
});

test("if the page cannot leave it unrendered, nothing is changed", async () => {
  const { apply, texts } = opened("a");
  const inserted = { ...insert("new", "c0", REMOTE), cell_type: "markdown" } as DocOperation;
  expect(await apply(inserted)).toMatchObject({ error: { code: "failed" } });
  expect(texts()).toEqual(["a"]);
});

test("code may contain any address", async () => {
  const { apply } = opened("a");
  expect(await apply(insert("new", "c0", REMOTE))).toEqual({ result: null });
});

// ---- running cells

const version = (id: string, source: string) => ({ id, based_on: sourceHash(source) });

test("outputs and count of a cell that the kernel runs are shown, without an undo step", async () => {
  const { ask, cells, transactions } = opened("1 + 1", "b");
  Object.assign(cells[0] as Cell, { executionState: "idle" });
  const outputs = [{ output_type: "stream", name: "stdout", text: "x" }];
  const shown = { op: "outputs", ...version("c0", "1 + 1"), outputs };
  expect(await ask({ ...shown, execution_count: null, running: true })).toEqual({ result: null });
  expect(cells[0]).toMatchObject({ outputs, execution_count: null, executionState: "running" });
  await ask({ ...shown, execution_count: 7, running: false });
  expect(cells[0]).toMatchObject({ execution_count: 7, executionState: "idle" });
  expect(transactions).toEqual([]);
});

test("outputs are replaced in two steps: JupyterLab joins a stream with the one that it then removes", async () => {
  const { ask, cells } = opened("a");
  const steps: Json[][] = [];
  Object.assign(cells[0] as Cell, { setOutputs: (outputs: Json[]) => void steps.push(outputs) });
  const outputs = [{ output_type: "stream", name: "stdout", text: "x" }];
  const shown = { op: "outputs", ...version("c0", "a"), outputs };
  await ask({ ...shown, execution_count: null, running: true });
  expect(steps).toEqual([[], outputs]);
});

test.each([
  { id: "c0", source: "another text" },
  { id: "gone", source: "1 + 1" },
])("a cell that is not as it was shows and runs nothing: %j", async ({ id, source }) => {
  const { ask, cells, host } = opened("1 + 1");
  host.cells = { unrender: () => undefined, execute };
  const cell = version(id, source);
  const shown = { op: "outputs", ...cell, outputs: [{}], execution_count: 1, running: false };
  expect(await ask(shown)).toMatchObject({ error: { code: "stale" } });
  const ran = await ask({ op: "run", cells: [{ id, source }] });
  expect(ran).toMatchObject({ error: { code: "stale" } });
  expect(cells[0]).toMatchObject({ outputs: [], execution_count: null });
});

test("another source of the same checksum is not run", async () => {
  // Attack: the checksum is easily met, and the agent may have changed the cell since the user allowed it.
  expect(sourceHash("plumless")).toBe(sourceHash("buckeroo"));
  const { ask, host, context } = opened("buckeroo");
  host.cells = { unrender: () => undefined, execute };
  Object.assign(context, { sessionContext: { session: { kernel: {} } } });
  const ran = await ask({ op: "run", cells: [{ id: "c0", source: "plumless" }] });
  expect(ran).toMatchObject({ error: { code: "stale" } });
});

test("a cell that changes while an earlier one runs is not run, and the answer lists those that ran", async () => {
  const { ask, cells, host, context } = opened("plumless", "plumless", "c");
  const ran: string[] = [];
  host.cells = {
    unrender: () => undefined,
    execute: (_, code) => {
      ran.push(code);
      (cells[1] as Cell).source = "buckeroo";
      return Promise.resolve({ status: "ok", execution_count: ran.length });
    },
  };
  Object.assign(context, { sessionContext: { session: { kernel: {} } } });
  const sources = ["plumless", "plumless", "c"];
  const wanted = sources.map((source, at) => ({ id: `c${at}`, source }));
  expect(await ask({ op: "run", cells: wanted })).toEqual({
    result: [
      { id: "c0", status: "ok", execution_count: 1, outputs: [] },
      { id: "c1", status: "skipped" },
      { id: "c2", status: "skipped" },
    ],
  });
  expect(ran).toEqual(["plumless"]);
});

test("cells are run one after the other until one fails", async () => {
  const { ask, cells, host, context } = opened("a", "b", "c");
  const ran: string[] = [];
  host.cells = {
    unrender: () => undefined,
    execute: (id, code, kernel) => {
      expect(kernel).toBe(KERNEL);
      ran.push(code);
      cells.find((it) => it.id === id)?.setOutputs([{ text: code }]);
      const status = code === "b" ? "error" : "ok";
      return Promise.resolve({ status, execution_count: ran.length });
    },
  };
  const KERNEL = {};
  const wanted = ["a", "b", "c"].map((source, at) => ({ id: `c${at}`, source }));
  expect(await ask({ op: "run", cells: wanted })).toMatchObject({ error: { code: "failed" } });
  Object.assign(context, { sessionContext: { session: { kernel: KERNEL } } });
  expect(await ask({ op: "run", cells: wanted })).toEqual({
    result: [
      { id: "c0", status: "ok", execution_count: 1, outputs: [{ text: "a" }] },
      { id: "c1", status: "error", execution_count: 2, outputs: [{ text: "b" }] },
      { id: "c2", status: "skipped" },
    ],
  });
  expect(ran).toEqual(["a", "b"]);
  expect(cells.map((it) => it.execution_count)).toEqual([1, 2, null]);
});

test("a page without a view of the notebook cannot run cells", async () => {
  const { ask } = opened("a");
  const answer = await ask({ op: "run", cells: [{ id: "c0", source: "a" }] });
  expect(answer).toMatchObject({ error: { code: "failed" } });
});
