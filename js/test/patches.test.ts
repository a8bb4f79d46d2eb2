import { expect, test } from "vitest";
import { applyPatches } from "../src/patches";
import type { State, WirePatch } from "../src/types";
import { message, state, turn } from "./helpers";

const start = state(turn(), message("k2", "Hel"), message("k3", "other"));

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(freeze);
    Object.freeze(value);
  }
  return value;
}

test("an append touches its item along the path, and nothing else", () => {
  const before = freeze(structuredClone(start)) as State;
  const after = applyPatches(before, [["append", "k2", ["content", 0, "text"], "lo"]]);
  expect(after.items[1]).toMatchObject({ content: [{ text: "Hello" }] });
  expect(after.items[0]).toBe(before.items[0]);
  expect(after.items[2]).toBe(before.items[2]);
  expect(after.session).toBe(before.session);
  expect(before.items[1]).toMatchObject({ content: [{ text: "Hel" }] });
});

test("a change of the header leaves the list of items the same object", () => {
  const after = applyPatches(start, [["set", "session", ["status"], "idle"]]);
  expect(after.session).toEqual({ key: "session", status: "idle" });
  expect(after.items).toBe(start.items);
});

test("add, set a new field, remove, and replace the header", () => {
  const after = applyPatches(start, [
    ["add", message("k4", "new")],
    ["set", "k1", ["stop_reason"], "end_turn"],
    ["append", "k4", ["content"], [{ type: "text", text: "more" }]],
    ["remove", "k2"],
    ["add", { key: "session", title: "T" }],
  ]);
  expect(after.items.map(({ key }) => key)).toEqual(["k1", "k3", "k4"]);
  expect(after.items[0]).toMatchObject({ stop_reason: "end_turn" });
  expect(after.items[2]).toMatchObject({ content: [{ text: "new" }, { text: "more" }] });
  expect(after.session).toEqual({ key: "session", title: "T" });
});

test.each<[string, WirePatch]>([
  ["an item that is not there", ["set", "k9", ["x"], 1]],
  ["removing what is not there", ["remove", "k9"]],
  ["an entry that is not there", ["set", "k2", ["content", 4, "text"], "x"]],
  ["a step into a text", ["set", "k2", ["role", "x"], 1]],
  ["text appended to a list", ["append", "k2", ["content"], "x"]],
  ["append to a field that is not there", ["append", "k2", ["nope"], "x"]],
])("a patch that does not fit throws: %s", (_, patch) => {
  expect(() => applyPatches(start, [patch])).toThrow();
});

test("a path through __proto__ changes no prototype", () => {
  applyPatches(start, [["set", "k2", ["__proto__", "polluted"], true]]);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});
