import { readFileSync } from "node:fs";
import { beforeEach, expect, test, vi } from "vitest";
import {
  attach,
  hostOf,
  NOTE,
  previousIn,
  registerWidget,
  substituted,
  watchKernel,
  WIDGET_VIEW,
} from "../src/document";
import { RUNS, TRANSCRIPT } from "../src/static";
import type { Bundle, Json, Place } from "../src/types";
import { soon } from "./helpers";

type Output = {
  output_type: string;
  data: { [mime: string]: Json };
  metadata: { [k: string]: Json };
};

class FakeSignal<T> {
  slots = new Set<(sender: unknown, value: T) => void>();
  connect = (slot: (sender: unknown, value: T) => void) => void this.slots.add(slot);
  disconnect = (slot: (sender: unknown, value: T) => void) => void this.slots.delete(slot);
  emit = (value: T) => [...this.slots].forEach((slot) => slot(null, value));
}

class FakeOutputs {
  sets = 0;
  constructor(
    readonly list: Output[],
    readonly changed: () => void,
  ) {}
  get length() {
    return this.list.length;
  }
  get = (at: number) => ({ toJSON: () => this.list[at] as unknown as Json });
  set = (at: number, output: Json) => {
    this.list[at] = output as unknown as Output;
    this.sets++;
    this.changed();
  };
}

/** A notebook as JupyterLab has it: a markdown cell, and a code cell with these outputs. */
function notebook(...list: Output[]) {
  const outputs = new FakeOutputs(list, () => (model.dirty = true));
  const cells = [{ id: "c0" }, { id: "c1", outputs }];
  const model = {
    dirty: false,
    collaborative: false,
    cells: { length: 2, get: (at: number) => cells[at] },
    toJSON: (): Json =>
      structuredClone({
        cells: [
          { id: "c0", source: "text" },
          { id: "c1", outputs: list },
        ],
        nbformat: 4,
      }) as Json,
  };
  const sessionContext = {
    statusChanged: new FakeSignal<string>(),
    connectionStatusChanged: new FakeSignal<string>(),
    kernelChanged: new FakeSignal<{ newValue: unknown }>(),
    iopubMessage: new FakeSignal<object>(),
  };
  const fileChanged = new FakeSignal<unknown>();
  const context = { model, ready: Promise.resolve(), sessionContext, fileChanged };
  const manager = {
    context,
    restoredStatus: true,
    restored: new FakeSignal<void>(),
    has_model: (id: string) => id !== "closed",
  };
  return { manager, model, outputs, sessionContext };
}

function widget(id: string, metadata: Output["metadata"] = {}): Output {
  const view = { version_major: 2, version_minor: 0, model_id: id };
  return {
    output_type: "display_data",
    data: { "text/plain": "Turn()", [WIDGET_VIEW]: view },
    metadata,
  };
}

function saved(model: { toJSON(): Json }): Output[] {
  return (model.toJSON() as unknown as { cells: { outputs: Output[] }[] }).cells[1]?.outputs ?? [];
}

const give = (text: string) => (): Bundle => ({ "text/html": `<p>${text}</p>` });

beforeEach(() => {
  Reflect.deleteProperty(globalThis, Symbol.for("acp_notebook.widgets"));
});

test("the file contains the static output and a note; the page's output is untouched", () => {
  const { manager, model, outputs } = notebook(widget("m1"), widget("foreign"));
  attach(manager, "s1", give("turn"));
  registerWidget("m1", "s1", "t1");
  const [mine, foreign] = saved(model);
  expect(mine?.data).toEqual({ "text/html": "<p>turn</p>" });
  expect(mine?.metadata).toEqual({ [NOTE]: { model_id: "m1", session: "s1", turn: "t1" } });
  expect(foreign).toEqual(widget("foreign"));
  expect(outputs.list[0]).toEqual(widget("m1"));
  expect(model.dirty).toBe(false);
});

test("the session's widget is known before it is drawn", () => {
  const { manager, model } = notebook(widget("s1"));
  attach(manager, "s1", (turn) => ({ "text/plain": String(turn) }));
  expect(saved(model)[0]?.data).toEqual({ "text/plain": "null" });
});

test("several sessions share one shadow", () => {
  const { manager, model } = notebook(widget("m1"), widget("m2"));
  const original = model.toJSON;
  attach(manager, "s1", give("one"));
  const shadow = model.toJSON;
  attach(manager, "s2", give("two"));
  expect(shadow).not.toBe(original);
  expect(model.toJSON).toBe(shadow);
  registerWidget("m1", "s1", "t1");
  registerWidget("m2", "s2", "t1");
  expect(saved(model).map(({ data }) => data["text/html"])).toEqual(["<p>one</p>", "<p>two</p>"]);
});

test("an output is never left empty, and a save never fails", () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { manager, model } = notebook(widget("m1"), widget("m2"));
  attach(manager, "s1", (turn) => {
    if (turn === "t1") throw new Error("no");
    return {};
  });
  registerWidget("m1", "s1", "t1");
  registerWidget("m2", "s1", "t2");
  for (const { data } of saved(model)) expect(data["text/plain"]).toMatch(/An agent's turn/);
});

test("the file's earlier output is offered, but not anywidget's text", () => {
  const note = { [NOTE]: { model_id: "m2", session: "s1", turn: "t2" } };
  const { manager, model } = notebook(widget("m1"), widget("m2", note));
  const seen: Bundle[] = [];
  attach(manager, "s1", (_, present) => (seen.push(present), { "text/plain": "x" }));
  registerWidget("m1", "s1", "t1");
  registerWidget("m2", "s1", "t2");
  saved(model);
  expect(seen).toEqual([{}, { "text/plain": "Turn()" }]);
});

test("a document is marked as changed at a turn's end, and every five seconds before", () => {
  vi.useFakeTimers();
  const { manager, model } = notebook(widget("m1"));
  const page = attach(manager, "s1", give("x"));
  page?.touch(true);
  expect(model.dirty, "not shown in this document").toBe(false);
  registerWidget("m1", "s1", "t1");
  const touched = (final: boolean) => {
    model.dirty = false;
    page?.touch(final);
    return model.dirty;
  };
  expect([touched(false), touched(false), touched(true)]).toEqual([true, false, true]);
  vi.advanceTimersByTime(5000);
  expect(touched(false)).toBe(true);
  vi.useRealTimers();
});

function stored(id: string, session = "s1"): Output {
  const metadata = { [NOTE]: { model_id: id, session, turn: "t1" } };
  return { output_type: "display_data", data: { "text/html": "<p>old</p>" }, metadata };
}

test("after a reload the widget is put back where it was, once, and the document stays clean", async () => {
  const { manager, model, outputs } = notebook(stored("m1"), stored("closed"), stored("m2", "s9"));
  attach(manager, "s1", (_, present) => present);
  await soon(() => expect(outputs.sets).toBe(1));
  expect(outputs.list[0]?.data[WIDGET_VIEW]).toMatchObject({ model_id: "m1" });
  expect(outputs.list[0]?.data["text/html"]).toBe("<p>old</p>");
  expect(outputs.list.slice(1).some(({ data }) => WIDGET_VIEW in data)).toBe(false);
  expect(model.dirty).toBe(false);
  expect(saved(model)[0]).toEqual(stored("m1"));
});

test("a notebook saved by an earlier version finds its live panel and turns", async () => {
  const file = "../tests/data/saved_by_fcba11b/live_panel.ipynb";
  const { cells } = JSON.parse(readFileSync(file, "utf8")) as { cells: { outputs: Output[] }[] };
  const shown = cells.flatMap((cell) => cell.outputs).filter((output) => "data" in output);
  const notes = shown.map((it) => it.metadata[NOTE] as { model_id: string; session: string });
  const { manager, outputs } = notebook(...shown);
  attach(manager, notes[0]?.session ?? "", (_, present) => present);
  await soon(() => expect(outputs.sets).toBe(7));
  const views = outputs.list.map((it) => (it.data[WIDGET_VIEW] as { model_id: string }).model_id);
  expect(views).toEqual(notes.map((it) => it.model_id));
});

test("the widgets are put back only when the kernel's models are restored", async () => {
  const { manager, outputs } = notebook(stored("m1"));
  manager.restoredStatus = false;
  attach(manager, "s1", give("x"));
  await soon(() => expect(manager.restored.slots.size).toBe(1));
  expect(outputs.sets).toBe(0);
  manager.restored.emit();
  await soon(() => expect(outputs.sets).toBe(1));
  expect(manager.restored.slots.size).toBe(0);
});

test("without a document it is declined", () => {
  for (const none of [undefined, {}, { context: {} }, { context: { model: {} } }]) {
    expect(attach(none, "s1", give("x"))).toBeNull();
    expect(hostOf(none)).toBe("other");
  }
});

/** The entries of a shared document, as Yjs has them: an output keeps its place when its contents change. */
function sharedNotebook(...list: Output[]) {
  const made = notebook(...list);
  const origins: unknown[] = [];
  const entry = (fields: Record<string, unknown>) => ({
    get: (key: string) => fields[key],
    set: (key: string, value: unknown) => void (fields[key] = value),
  });
  const outputs = { get: (at: number) => entry(list[at] as unknown as Record<string, unknown>) };
  const sharedModel = {
    toJSON: made.model.toJSON,
    cells: [{ ymodel: entry({}) }, { ymodel: entry({ outputs }) }],
    ydoc: {
      transact(change: () => void, origin: unknown) {
        origins.push(origin);
        change();
      },
    },
  };
  Object.assign(made.model, { collaborative: true, sharedModel });
  return { ...made, list, origins };
}

test("a shared document gets the static output, at most every five seconds while a turn runs", () => {
  vi.useFakeTimers();
  const { manager, model, outputs, list, origins } = sharedNotebook(
    widget("m1"),
    widget("foreign"),
  );
  const original = model.toJSON;
  let text = "one";
  const page = attach(manager, "s1", () => ({ "text/html": text }));
  expect(model.toJSON, "the server saves").toBe(original);
  registerWidget("m1", "s1", "t1");
  page?.touch(true, true);
  vi.advanceTimersByTime(1000);
  expect(list[0]?.data).toEqual({ "text/html": "one" });
  expect(list[1]).toEqual(widget("foreign"));
  text = "two";
  page?.touch(true, true);
  vi.advanceTimersByTime(3900);
  expect(list[0]?.data["text/html"]).toBe("one");
  vi.advanceTimersByTime(2100);
  expect(list[0]?.data["text/html"], "found by its note").toBe("two");
  text = "three";
  page?.touch(true, false);
  vi.advanceTimersByTime(1000);
  expect(list[0]?.data["text/html"]).toBe("three");
  expect([outputs.sets, model.dirty]).toEqual([0, false]);
  expect(new Set(origins), "not an edit of the user's").not.toContain(undefined);
  vi.useRealTimers();
});

test("a shared document is written by the place that the kernel names", () => {
  vi.useFakeTimers();
  const line = JSON.stringify({ acp_transcript: 1, name: "t1" });
  const old: Output = { output_type: "display_data", data: { [TRANSCRIPT]: line }, metadata: {} };
  const { manager, list } = sharedNotebook(old);
  const places = [{ model: "m1", cell: "c1", turn: "t1" }];
  attach(
    manager,
    "s1",
    () => ({ "text/html": "new", [TRANSCRIPT]: line }),
    () => places,
  )?.placed();
  vi.advanceTimersByTime(1000);
  expect(list).toEqual([{ ...old, data: { "text/html": "new", [TRANSCRIPT]: line } }]);
  vi.useRealTimers();
});

test("the host's name", () => {
  const { manager } = notebook();
  expect(hostOf(manager)).toBe("jupyterlab");
  document.body.dataset["notebook"] = "notebooks";
  expect(hostOf(manager)).toBe("notebook");
  delete document.body.dataset["notebook"];
});

test("a kernel that restarts or dies is gone; a lost connection may come back", () => {
  const { manager, sessionContext } = notebook();
  const watcher = { gone: vi.fn(), lost: vi.fn(), back: vi.fn() };
  const controller = new AbortController();
  watchKernel(manager, watcher, controller.signal);
  for (const fine of ["idle", "busy", "unknown", "starting"])
    sessionContext.statusChanged.emit(fine);
  expect(watcher.gone).not.toHaveBeenCalled();
  sessionContext.connectionStatusChanged.emit("connected");
  expect(watcher.back).not.toHaveBeenCalled();
  for (const value of ["connecting", "disconnected", "connected"])
    sessionContext.connectionStatusChanged.emit(value);
  expect(watcher.lost).toHaveBeenCalledTimes(1);
  expect(watcher.back).toHaveBeenCalledTimes(1);
  sessionContext.statusChanged.emit("restarting");
  sessionContext.kernelChanged.emit({ newValue: null });
  expect(watcher.gone).toHaveBeenCalledTimes(2);
  controller.abort();
  expect(sessionContext.statusChanged.slots.size).toBe(0);
});

test("a restart by another client is noticed by the kernel's session id", () => {
  const { manager, sessionContext } = notebook();
  const watcher = { gone: vi.fn(), lost: vi.fn(), back: vi.fn() };
  watchKernel(manager, watcher, new AbortController().signal);
  const say = (session: string, state: string) =>
    sessionContext.iopubMessage.emit({
      header: { session, msg_type: "status" },
      content: { execution_state: state },
    });
  say("kernel", "busy");
  say("server", "unknown");
  say("kernel", "busy");
  expect(watcher.gone).not.toHaveBeenCalled();
  say("another kernel", "busy");
  expect(watcher.gone).toHaveBeenCalledTimes(1);
});

// ---- without ids: the kernel says which widget a cell shows

const turnLine = (name: string) => JSON.stringify({ acp_transcript: 2, name });
const wholeLine = JSON.stringify({ acp_transcript: 2, parts: [] });

function saidBy(...places: Place[]): () => readonly Place[] {
  return () => places;
}

test("a file with known cells contains no ids of widgets", () => {
  const { manager, model } = notebook(widget("m1"), widget("m2"));
  const provide = (turn: string | null): Bundle => ({ [TRANSCRIPT]: turnLine(turn ?? "") });
  attach(manager, "s1", provide, saidBy({ model: "m1", cell: "c1", turn: "t1" }));
  registerWidget("m1", "s1", "t1");
  registerWidget("m2", "s1", "t2");
  const [known, unknown] = saved(model);
  expect(known?.metadata).toEqual({});
  expect(unknown?.metadata[NOTE]).toMatchObject({ model_id: "m2" });
});

test("an output that has no transcript yet keeps its note", () => {
  const { manager, model } = notebook(widget("m1"));
  attach(manager, "s1", give("x"), saidBy({ model: "m1", cell: "c1", turn: "t1" }));
  registerWidget("m1", "s1", "t1");
  expect(saved(model)[0]?.metadata[NOTE]).toMatchObject({ model_id: "m1" });
});

function storedLine(line: string): Output {
  return { output_type: "display_data", data: { [TRANSCRIPT]: line }, metadata: {} };
}

test("after a reload a widget is found by its cell and its turn, when the kernel has said so", async () => {
  const { manager, model, outputs } = notebook(
    storedLine(turnLine("t2")),
    storedLine(turnLine("t9")),
    storedLine(wholeLine),
  );
  const places: Place[] = [];
  const page = attach(manager, "s1", give("x"), () => places);
  await soon(() => expect(outputs.sets).toBe(0));
  places.push(
    { model: "m1", cell: "elsewhere", turn: "t9" },
    { model: "m2", cell: "c1", turn: "t2" },
  );
  places.push({ model: "s1", cell: "c1", turn: null });
  page?.placed();
  await soon(() => expect(outputs.sets).toBe(2));
  const views = outputs.list.map(({ data }) => data[WIDGET_VIEW]);
  expect(views).toMatchObject([{ model_id: "m2" }, undefined, { model_id: "s1" }]);
  expect(model.dirty).toBe(false);
  page?.placed();
  await soon(() => expect(outputs.sets).toBe(2));
});

test("a page that loads the file again becomes live again", async () => {
  const { manager, outputs } = notebook(widget("m1"));
  attach(manager, "s1", give("x"), saidBy({ model: "m1", cell: "c1", turn: "t1" }));
  await soon(() => expect(outputs.sets).toBe(0));
  outputs.list[0] = storedLine(turnLine("t1"));
  manager.context.fileChanged.emit(null);
  await soon(() => expect(outputs.list[0]?.data[WIDGET_VIEW]).toMatchObject({ model_id: "m1" }));
});

test("a session is told which of its turns the same file has", () => {
  const { manager, model } = notebook(widget("s1"), widget("m1"), widget("m2"), widget("m3"));
  const told: string[][] = [];
  attach(manager, "s1", (turn, _, elsewhere) => {
    if (turn === null) told.push([...elsewhere]);
    return turn === "t2" ? { "text/plain": "no transcript" } : { [TRANSCRIPT]: turnLine("x") };
  });
  registerWidget("m1", "s1", "t1");
  registerWidget("m2", "s1", "t2"); // not completely in the file
  registerWidget("m3", "another", "t3");
  saved(model);
  expect(told).toEqual([["t1"]]);
});

test("a cell's earlier outputs are those of every session, also of earlier kernels, the newest last", () => {
  const { manager, model } = notebook();
  expect(previousIn(model, "c1")).toEqual([]);
  const provide =
    (session: string) =>
    (turn: string | null, present: Bundle, elsewhere: ReadonlySet<string>): Bundle => ({
      "text/plain": `${session} ${turn}`,
      rest: [Object.keys(present).length, elsewhere.size],
    });
  const panel = { model: "s1", cell: "c1", turn: null };
  attach(manager, "s1", provide("s1"), saidBy(panel, { model: "m2", cell: "c2", turn: "t2" }));
  attach(manager, "s2", provide("s2"), saidBy({ model: "m3", cell: "c1", turn: "t1" }));
  expect(previousIn(model, "c1")).toEqual([
    { "text/plain": "s1 null", rest: [0, 0] },
    { "text/plain": "s2 t1", rest: [0, 0] },
  ]);
  expect(previousIn(model, "no such cell")).toEqual([]);
});

test("a document of another kind has no earlier outputs", () => {
  expect(previousIn({}, "c1")).toEqual([]);
});

test("in a shared notebook, a cell that is run again keeps the new session's turn, not the earlier one's", () => {
  const provider = (text: string, model: string) => ({
    places: () => [{ cell: "c1", model, turn: "t1" }],
    provide: () => ({ "text/html": text, [TRANSCRIPT]: '{"acp_transcript":2,"name":"t1"}' }),
  });
  const providers = new Map([
    ["s1", provider("the earlier answer", "m1")],
    ["s2", provider("the new answer", "m2")],
  ]) as unknown as Parameters<typeof substituted>[1];
  const kept = (metadata: Json) => {
    const data = { "text/html": "…", [TRANSCRIPT]: '{"acp_transcript":2,"name":"t1"}' };
    const cells = [{ id: "c1", outputs: [{ output_type: "display_data", data, metadata }] }];
    return JSON.stringify(substituted({ cells }, providers, true));
  };
  expect(kept({ [NOTE]: { model_id: "m2", session: "s2", turn: "t1" } })).toContain(
    "the new answer",
  );
  expect(kept({})).toContain("the new answer");
  expect(kept({ [NOTE]: { model_id: "m1", session: "s1", turn: "t1" } })).toContain(
    "the earlier answer",
  );
  expect(kept({ [NOTE]: { model_id: "m0", session: "s0", turn: "t1" } })).toContain("…");
});

test("two sessions whose turns have the same name in one cell keep their own turns, also after a reload", async () => {
  const view = (model_id: string): Output => ({
    output_type: "display_data",
    data: { [WIDGET_VIEW]: { model_id } },
    metadata: {},
  });
  const answer = (session: string) => () => ({
    "text/html": `by ${session}`,
    [TRANSCRIPT]: '{"acp_transcript":2,"name":"t1"}',
  });
  const joined = (...list: Output[]) => {
    const page = notebook(...list);
    for (const session of ["s1", "s2"])
      attach(
        page.manager,
        session,
        answer(session),
        saidBy({ model: `m-${session}`, cell: "c1", turn: "t1" }),
      );
    return page;
  };
  registerWidget("m-s1", "s1", "t1");
  registerWidget("m-s2", "s2", "t1");
  const file = saved(joined(view("m-s1"), view("m-s2")).model) as unknown as Output[];
  expect(file.map(({ data }) => data["text/html"])).toEqual(["by s1", "by s2"]);
  const { outputs, model } = joined(...structuredClone(file));
  await soon(() => expect(outputs.sets).toBe(2));
  expect(outputs.list.map(({ data }) => data[WIDGET_VIEW])).toMatchObject([
    { model_id: "m-s1" },
    { model_id: "m-s2" },
  ]);
  expect((saved(model) as unknown as Output[]).map(({ data }) => data["text/html"])).toEqual([
    "by s1",
    "by s2",
  ]);
});

test("the tables of a fan-out are found by their cell, a second one by its note", async () => {
  const bundle = { [RUNS]: "{}" };
  const place = (model: string) => [{ model, cell: "c1", turn: RUNS }];
  const { manager, model } = notebook(widget("r1"), widget("r2"));
  attach(
    manager,
    "r1",
    () => bundle,
    () => place("r1"),
  );
  attach(manager, "r2", () => bundle);
  const [first, second] = saved(model);
  expect(first?.metadata).toEqual({});
  expect(second?.metadata[NOTE]).toMatchObject({ model_id: "r2", session: "r2" });
  const again = notebook(first as Output, second as Output);
  attach(
    again.manager,
    "r1",
    () => bundle,
    () => place("r1"),
  )?.placed();
  attach(again.manager, "r2", () => bundle);
  const view = (at: number) => again.outputs.list[at]?.data[WIDGET_VIEW];
  await soon(() => {
    expect(view(0)).toMatchObject({ model_id: "r1" });
    expect(view(1)).toMatchObject({ model_id: "r2" });
  });
});
