import type { AnyModel } from "@anywidget/types";
import { expect, test, vi } from "vitest";
import { ACK_MS, connect } from "../src/link";
import type { FromKernel } from "../src/types";
import { makeStore, question, soon, state, turn } from "./helpers";

class FakeModel {
  sent: unknown[] = [];
  listeners = new Map<string, Set<(...args: unknown[]) => void>>();
  real = { comm_live: true };
  widget_manager = { get_model: () => Promise.resolve(this.real) };
  get = () => "session-id";
  send = (message: unknown) => void this.sent.push(message);
  on = (name: string, run: () => void) =>
    void this.listeners.set(name, (this.listeners.get(name) ?? new Set()).add(run));
  off = (name: string, run: () => void) => void this.listeners.get(name)?.delete(run);
  fire = (name: string, value?: unknown) => this.listeners.get(name)?.forEach((run) => run(value));
}

function connected() {
  const made = makeStore();
  const model = new FakeModel();
  const controller = new AbortController();
  const introduction = {
    view: "v",
    document: true,
    host: "jupyterlab",
    live: true,
    path: "a.ipynb",
    person: "Ada",
  } as const;
  const connection = connect(
    model as unknown as AnyModel,
    made.store,
    introduction,
    controller.signal,
    made.clock,
  );
  const receive = (message: FromKernel) => model.fire("msg:custom", message);
  return { ...made, model, controller, connection, receive };
}

const HELLO = {
  t: "hello",
  view: "v",
  document: true,
  host: "jupyterlab",
  live: true,
  path: "a.ipynb",
  person: "Ada",
};

test("it says hello once, and the state makes it live", () => {
  const { model, store, receive } = connected();
  expect(model.sent).toEqual([HELLO]);
  expect(store.link).toBe("waiting");
  receive({ t: "state", seq: 1, state: state(turn()) });
  expect(store.link).toBe("live");
});

test("a gap is answered with one resync", () => {
  const { model, receive } = connected();
  receive({ t: "state", seq: 1, state: state(turn()) });
  receive({ t: "patches", seq: 3, patches: [] });
  receive({ t: "patches", seq: 4, patches: [] });
  expect(model.sent.slice(1)).toEqual([{ t: "resync", have: 1, view: "v" }]);
});

test("new messages are acknowledged at most once a second", () => {
  const { model, receive, clock } = connected();
  receive({ t: "state", seq: 1, state: state(turn()) });
  receive({ t: "patches", seq: 2, patches: [] });
  clock.pass(ACK_MS);
  receive({ t: "beat", seq: 2 });
  clock.pass(ACK_MS);
  expect(model.sent.slice(1)).toEqual([{ t: "ack", seq: 2, view: "v" }]);
});

test("an intent is sent while the kernel is connected, and marked as sent", () => {
  const { model, store, receive, connection } = connected();
  const answer = { t: "answer", question: "k7", option: "yes" } as const;
  connection.emit(answer);
  expect(model.sent).toEqual([HELLO]);
  receive({ t: "state", seq: 1, state: state(turn(), question()) });
  connection.emit(answer);
  expect(model.sent.at(-1)).toEqual({ ...answer, view: "v" });
  expect(store.snapshot.sent.has("k7")).toBe(true);
});

test("folds stay in the browser", () => {
  const { model, store, connection } = connected();
  connection.emit({ t: "fold", key: "k2", open: true });
  expect(model.sent).toEqual([HELLO]);
  expect(store.snapshot.folds.get("k2")).toBe(true);
});

test("messages of an unknown kind are left alone", () => {
  vi.spyOn(console, "debug").mockImplementation(() => undefined);
  const { model, store } = connected();
  for (const strange of [null, 7, "x", {}, { t: "dance" }]) model.fire("msg:custom", strange);
  expect(store.link).toBe("waiting");
});

test("only a model whose kernel is gone counts as gone", async () => {
  const { model, store, receive } = connected();
  receive({ t: "state", seq: 1, state: state(turn()) });
  model.fire("comm_live_update");
  await Promise.resolve();
  expect(store.link).toBe("live");
  model.real.comm_live = false;
  model.fire("comm_live_update");
  await soon(() => expect(store.link).toBe("gone"));
});

test("at the end it says bye and stops listening", () => {
  const { model, controller } = connected();
  controller.abort();
  expect(model.sent.at(-1)).toEqual({ t: "bye", view: "v" });
  expect([...model.listeners.values()].every((set) => set.size === 0)).toBe(true);
});

test("completions are requested for this page, and received by it alone", () => {
  const { model, store, connection, receive } = connected();
  receive({ t: "state", seq: 1, state: state(turn()) });
  connection.emit({ t: "complete", rid: "1", fragment: "@d" });
  expect(model.sent.at(-1)).toEqual({ t: "complete", rid: "1", fragment: "@d", view: "v" });
  expect(store.snapshot.sent.size).toBe(0);
  const answer = { t: "offered", rid: "1", fragment: "@d", offered: [] } as const;
  receive({ ...answer, view: "other" });
  expect(store.snapshot.offered).toBeNull();
  receive({ ...answer, view: "v" });
  expect(store.snapshot.offered?.rid).toBe("1");
});

test("a key is sent and kept nowhere in the page", () => {
  const { model, store, receive, connection } = connected();
  receive({ t: "state", seq: 1, state: state(turn()) });
  const intent = { t: "use_key", name: "A_KEY", key: "sk-typed-4711" } as const;
  connection.emit(intent);
  expect(model.sent.at(-1)).toEqual({ ...intent, view: "v" });
  expect(store.snapshot.sent.size).toBe(0);
});
