import { expect, test, vi } from "vitest";
import { ASK_AGAIN_MS, SETTING_MS, SLOW_MS } from "../src/store";
import type { Snapshot } from "../src/store";
import { groupTurns, newestTurn } from "../src/turns";
import type { Bundle, Item, StaticMessage, WirePatch } from "../src/types";
import { makeStore, message, now, queuedPrompt, question, state, turn } from "./helpers";

const GROW: WirePatch = ["append", "k2", ["content", 0, "text"], "!"];

function live(...items: Parameters<typeof state>) {
  const made = makeStore();
  made.store.receive({ t: "state", seq: 5, state: state(...items) });
  made.frames.draw();
  return made;
}

test("patches in sequence change the state; the newest number is known", () => {
  const { store } = live(turn(), message("k2", "Hi"));
  expect(store.receive({ t: "patches", seq: 6, patches: [GROW] })).toBeNull();
  expect(store.snapshot.state.items[1]).toMatchObject({ content: [{ text: "Hi!" }] });
  expect(store.have).toBe(6);
});

test("a gap requests a resync once, and patches are ignored until the state arrives", () => {
  const { store } = live(turn(), message("k2", "Hi"));
  expect(store.receive({ t: "patches", seq: 7, patches: [GROW] })).toEqual({
    t: "resync",
    have: 5,
  });
  expect(store.receive({ t: "patches", seq: 8, patches: [GROW] })).toBeNull();
  expect(store.receive({ t: "beat", seq: 8 })).toBeNull();
  expect(store.snapshot.state.items[1]).toMatchObject({ content: [{ text: "Hi" }] });
  store.receive({ t: "state", seq: 8, state: state(turn(), message("k2", "Hi!!")) });
  expect(store.receive({ t: "patches", seq: 9, patches: [GROW] })).toBeNull();
  expect(store.snapshot.state.items[1]).toMatchObject({ content: [{ text: "Hi!!!" }] });
});

test("a patch that does not fit is a gap, and its batch is ignored", () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const { store } = live(turn(), message("k2", "Hi"));
  const before = store.snapshot.state;
  const answer = store.receive({ t: "patches", seq: 6, patches: [GROW, ["remove", "k9"]] });
  expect(answer).toEqual({ t: "resync", have: 5 });
  expect(store.snapshot.state).toBe(before);
});

test("a beat that is newer shows a lost tail; an equal one does not", () => {
  const { store } = live(turn());
  expect(store.receive({ t: "beat", seq: 5 })).toBeNull();
  expect(store.receive({ t: "beat", seq: 6 })).toEqual({ t: "resync", have: 5 });
});

test("a state that never arrives is requested again, at a beat, after a while", () => {
  const { store, clock } = makeStore();
  store.expectState();
  expect(store.receive({ t: "patches", seq: 1, patches: [] })).toBeNull();
  expect(store.receive({ t: "beat", seq: 1 })).toBeNull();
  clock.pass(ASK_AGAIN_MS + 1);
  expect(store.receive({ t: "beat", seq: 1 })).toEqual({ t: "resync", have: 0 });
  expect(store.receive({ t: "beat", seq: 1 })).toBeNull();
});

test("listeners are called once per frame, until they unsubscribe", () => {
  const { store, frames } = live(turn(), message("k2", ""));
  const [one, two] = [vi.fn(), vi.fn()];
  const leave = store.subscribe(one);
  store.subscribe(two);
  for (let seq = 6; seq < 16; seq++) store.receive({ t: "patches", seq, patches: [GROW] });
  expect(one).not.toHaveBeenCalled();
  frames.draw();
  expect(one).toHaveBeenCalledTimes(1);
  const seen = one.mock.calls[0]?.[0] as Snapshot;
  expect(seen.state.items[1]).toMatchObject({ content: [{ text: "!".repeat(10) }] });
  leave();
  store.receive({ t: "patches", seq: 16, patches: [GROW] });
  frames.draw();
  expect(one).toHaveBeenCalledTimes(1);
  expect(two).toHaveBeenCalledTimes(2);
});

test("a turn in which nothing happened is the same object in the next snapshot", () => {
  const second = turn({ key: "k3", turn: "k3", id: "t2", number: 2 });
  const { store } = live(
    turn({ status: "done" }),
    message("k2", "a"),
    second,
    message("k4", "b", "agent", "k3"),
  );
  const before = store.snapshot;
  store.receive({
    t: "patches",
    seq: 6,
    patches: [["append", "k4", ["content", 0, "text"], "c"]],
  });
  const after = store.snapshot;
  expect(after.turns[0]).toBe(before.turns[0]);
  expect(after.turns[1]).not.toBe(before.turns[1]);
  expect(store.snapshot).toBe(after);
});

test("an answer is pending until the question is settled; slow after two seconds", () => {
  const { store, clock } = live(turn(), question());
  store.sending({ t: "answer", question: "k7", option: "yes" });
  expect(store.snapshot.sent.get("k7")).toMatchObject({ slow: false });
  clock.pass(SLOW_MS);
  expect(store.snapshot.sent.get("k7")).toMatchObject({ slow: true });
  store.receive({ t: "patches", seq: 6, patches: [["set", "k7", ["status"], "answered"]] });
  expect(store.snapshot.sent.size).toBe(0);
});

test("a cancel is pending until the turn is cancelling, or has ended", () => {
  for (const patch of [
    ["set", "k1", ["cancelling"], true],
    ["set", "k1", ["status"], "done"],
  ] satisfies WirePatch[]) {
    const { store, clock } = live(turn());
    store.sending({ t: "cancel", turn: "t1" });
    store.receive({ t: "patches", seq: 6, patches: [patch] });
    expect(store.snapshot.sent.size).toBe(0);
    clock.pass(SLOW_MS);
    expect(store.snapshot.sent.size).toBe(0);
  }
});

test("a refusal is shown, and its button is enabled again", () => {
  const { store } = live(turn(), question());
  store.sending({ t: "answer", question: "k7", option: "yes" });
  store.receive({ t: "refused", what: "too late" });
  expect(store.snapshot).toMatchObject({ refused: "too late", sent: new Map() });
  store.local({ t: "dismiss" });
  expect(store.snapshot.refused).toBeNull();
});

test("a kernel that is gone stays gone, and the transcript stays", () => {
  const { store } = live(turn());
  store.setLink("gone");
  store.setLink("live");
  expect(store.snapshot).toMatchObject({ link: "gone", state: { items: [{ key: "k1" }] } });
});

function staticOutput(seq: number, bundle: Bundle, places: [string, string][] = []): StaticMessage {
  return { t: "static", seq, turn: "t1", bundle, reference: "", parts: [], places };
}

test("where a turn is shown is known, and a change of it is noticed", () => {
  const { store } = live(turn());
  store.receive(staticOutput(2, {}, [["m1", "c1"]]));
  const { shown } = store.snapshot;
  expect(store.places()).toEqual([{ model: "m1", cell: "c1", turn: "t1" }]);
  store.receive(staticOutput(3, {}, [["m1", "c1"]]));
  expect(store.snapshot.shown).toBe(shown);
  store.receive(staticOutput(4, {}, [["m2", "c1"]]));
  expect(store.snapshot.shown).toBe(shown + 1);
});

test("the newest static output of a turn is kept; only a different one is a change", () => {
  const { store } = live(turn());
  store.receive(staticOutput(2, { "text/plain": "a" }));
  store.receive(staticOutput(3, { "text/plain": "a" }));
  expect(store.snapshot.bundles).toBe(0);
  store.receive(staticOutput(4, { "text/plain": "b" }));
  expect(store.staticOutput("t1")?.bundle).toEqual({ "text/plain": "b" });
  expect(store.snapshot.bundles).toBe(1);
});

test("a missed static output is requested", () => {
  const { store } = live(turn());
  const have = store.have;
  expect(store.receive(staticOutput(have + 2, {}))).toEqual({
    t: "resync",
    have,
  });
});

test("outside the state: the queue, and how long the running turn has taken", () => {
  const { store, clock } = live(turn());
  clock.time = 100_000;
  store.receive(now([queuedPrompt("t2", "next")], 40));
  expect(store.snapshot).toMatchObject({ queue: [{ turn: "t2", text: "next" }], since: 60_000 });
  store.receive({ t: "patches", seq: 6, patches: [["set", "k1", ["status"], "done"]] });
  expect(store.snapshot.since).toBeNull();
});

test("a turn that we see starting starts now", () => {
  const { store, clock } = live(turn({ status: "done" }));
  clock.time = 7000;
  const next = turn({ key: "k2", turn: "k2", id: "t2", number: 2 });
  store.receive({ t: "patches", seq: 6, patches: [["add", next]] });
  expect(store.snapshot.since).toBe(7000);
  clock.time = 9000;
  store.receive({ t: "patches", seq: 7, patches: [["add", message("k3", "a", "agent", "k2")]] });
  expect(store.snapshot.since).toBe(7000);
});

test("a prompt is pending until the kernel sends its queue", () => {
  const { store } = live(turn());
  store.sending({ t: "prompt", text: "hi" });
  expect(store.snapshot.sent.has("prompt")).toBe(true);
  store.receive(now([], null));
  expect(store.snapshot.sent.size).toBe(0);
});

test("a setting is pending until the state has it, but not forever", () => {
  const { store, clock } = live(turn());
  store.sending({ t: "mode", mode: "plan" });
  store.receive({ t: "patches", seq: 6, patches: [["set", "session", ["mode"], "ask"]] });
  expect(store.snapshot.sent.has("mode")).toBe(true);
  store.receive({ t: "patches", seq: 7, patches: [["set", "session", ["mode"], "plan"]] });
  expect(store.snapshot.sent.has("mode")).toBe(false);
  store.sending({ t: "config", id: "x", value: true });
  clock.pass(SETTING_MS);
  expect(store.snapshot.sent.size).toBe(0);
});

test("terminals that did not change are the same map in the next snapshot", () => {
  const terminal = {
    key: "kt",
    type: "terminal",
    turn: "k1",
    id: "x",
    status: "running",
    output: "",
  };
  const { store } = live(turn(), message("k2", ""), terminal as Item);
  const before = store.snapshot.terminals;
  store.receive({ t: "patches", seq: 6, patches: [GROW] });
  expect(store.snapshot.terminals).toBe(before);
  store.receive({ t: "patches", seq: 7, patches: [["append", "kt", ["output"], "a"]] });
  expect(store.snapshot.terminals.byId.get("x")?.output).toBe("a");
  expect(store.snapshot.terminals.cited).toBe(before.cited);
});

test("what is between two turns is a group of its own, in its place", () => {
  const notice = (key: string) =>
    ({ type: "notice", key, turn: null, title: key, source: "client", severity: "info" }) as Item;
  const second = turn({ key: "k5", turn: "k5", id: "t2", number: 2 });
  const late = message("k6", "late");
  const groups = groupTurns([notice("k0"), turn(), notice("k3"), notice("k4"), second, late]);
  expect(groups.map(({ key, items }) => [key, ...items.map((item) => item.key)])).toEqual([
    ["+", "k0"],
    ["k1", "k6"],
    ["k1+", "k3", "k4"],
    ["k5"],
  ]);
  expect(newestTurn(groups.slice(0, 3))?.key).toBe("k1");
  expect(newestTurn(groups.slice(0, 1))).toBeNull();
});
