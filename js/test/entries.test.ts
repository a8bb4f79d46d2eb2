// @vitest-environment node

import { expect, test } from "vitest";
import type { Item, ToolItem } from "../src/types";
import { entriesOf, groupTitle } from "../src/view/entries";
import { message, question } from "./helpers";
import { tool } from "./mounted";

const NONE: ReadonlySet<string> = new Set();

function read(key: string, fields: Partial<ToolItem> = {}): ToolItem {
  return tool({ key, id: key, title: `Read ${key}`, kind: "read", status: "completed", ...fields });
}

function shape(items: Item[], cited = NONE) {
  return entriesOf(items, cited).map((entry) =>
    entry.type === "group"
      ? entry.tools.map(({ key }) => key)
      : entry.item.key + (entry.question ? `+${entry.question.key}` : ""),
  );
}

test("three reads and searches in a row are one; two are two", () => {
  expect(shape([read("a"), read("b"), message("m", "x"), read("c")])).toEqual(["a", "b", "m", "c"]);
  const run = [read("a"), read("b", { kind: "search" }), read("c"), message("m", "x")];
  expect(shape(run)).toEqual([["a", "b", "c"], "m"]);
});

test("a group keeps its name while it grows", () => {
  const names = [3, 4, 5].map((count) => {
    const [entry] = entriesOf(
      Array.from({ length: count }, (_, at) => read(`r${at}`)),
      NONE,
    );
    return entry?.type === "group" && entry.key;
  });
  expect(names).toEqual(["group:r0", "group:r0", "group:r0"]);
});

test.each([
  ["it failed", { status: "failed" }],
  ["it changes a file", { kind: "edit" }],
  ["it has a picture", { content: [{ type: "image", data: "", mime_type: "image/png" }] }],
  ["it shows a terminal", { content: [{ type: "terminal", terminal_id: "t" }] }],
] as [string, Partial<ToolItem>][])("a call is shown separately if %s", (_, fields) => {
  const run = [read("a"), read("b"), read("c", fields), read("d"), read("e")];
  expect(shape(run)).toEqual(["a", "b", "c", "d", "e"]);
});

test("a call with a question is shown separately", () => {
  const run = [read("a"), read("b"), read("c"), question({ tool: "c" }), read("d")];
  expect(shape(run)).toEqual(["a", "b", "c+k7", "d"]);
});

test("a question without its call is shown separately; so is an older one of the same call", () => {
  expect(shape([question({ tool: "nowhere" })])).toEqual(["k7"]);
  expect(shape([question({ tool: null })])).toEqual(["k7"]);
  const twice = [tool(), question({ key: "q1", tool: "k5" }), question({ key: "q2", tool: "k5" })];
  expect(shape(twice)).toEqual(["k5+q2", "q1"]);
});

test("a terminal that a call shows is not shown again", () => {
  const terminal = {
    key: "kt",
    type: "terminal",
    turn: "k1",
    id: "x",
    status: "running",
    output: "",
  };
  expect(shape([terminal as Item])).toEqual(["kt"]);
  expect(shape([terminal as Item], new Set(["x"]))).toEqual([]);
});

test("a group says what was done", () => {
  const of = (...kinds: string[]) => groupTitle(kinds.map((kind, at) => read(`${at}`, { kind })));
  expect(of("read", "read", "read")).toBe("Read 3 files");
  expect(of("search", "read", "search")).toBe("Read 1 file, searched 2 times");
  expect(of("fetch", "search", "fetch")).toBe("Searched once, fetched 2 pages");
});
