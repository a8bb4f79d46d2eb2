// @vitest-environment node

import { describe, expect, test } from "vitest";
import { compare } from "../src/view/sequence_diff";
import { changeOf, pairsOf, words } from "../src/view/diff_rows";
import type { Line } from "../src/view/diff_rows";

/** Numbers that look random and are the same in every run. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function rebuilt(before: readonly string[], after: readonly string[]) {
  const old: string[] = [];
  const now: string[] = [];
  let [atOld, atNow] = [0, 0];
  for (const { kind, old: inOld, now: inNow } of compare(before, after)) {
    expect([inOld[0], inNow[0]]).toEqual([atOld, atNow]);
    if (kind === "same") expect(before.slice(...inOld)).toEqual(after.slice(...inNow));
    if (kind === "gone") expect(inNow[0]).toBe(inNow[1]);
    if (kind === "new") expect(inOld[0]).toBe(inOld[1]);
    if (kind !== "new") old.push(...before.slice(...inOld));
    if (kind !== "gone") now.push(...after.slice(...inNow));
    [atOld, atNow] = [inOld[1], inNow[1]];
  }
  return [old, now];
}

describe("comparing", () => {
  test("old and new can be rebuilt from it", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const next = random(seed);
      const letters = 1 + next(12);
      const make = () => Array.from({ length: next(40) }, () => `l${next(letters)}`);
      const before = make();
      const edited = before
        .filter(() => next(4) > 0)
        .flatMap((line) => (next(5) ? [line] : [line, "x"]));
      const after = seed % 2 ? make() : edited;
      expect(rebuilt(before, after)).toEqual([before, after]);
    }
  });

  test("it is the shortest edit if that is small", () => {
    const edits = (a: string, b: string) =>
      compare([...a], [...b]).reduce(
        (sum, { kind, old, now }) =>
          sum + (kind === "same" ? 0 : old[1] - old[0] + (now[1] - now[0])),
        0,
      );
    expect(edits("abcabba", "cbabac")).toBe(5);
    expect(edits("", "abc")).toBe(3);
    expect(edits("abc", "abc")).toBe(0);
    expect(edits("aXb", "aYb")).toBe(2);
  });

  test("sequences with nothing in common and nothing unique are compared quickly", () => {
    const before = Array.from({ length: 20_000 }, (_, at) => `a${at % 3}`);
    const after = Array.from({ length: 20_000 }, (_, at) => `b${at % 3}`);
    expect(compare(before, after).map(({ kind }) => kind)).toEqual(["gone", "new"]);
  });

  test("a shifted repetitive file is rebuilt, too", () => {
    const before = Array.from({ length: 3000 }, (_, at) => `${at % 5}`);
    const after = Array.from({ length: 3000 }, (_, at) => `${(at * 7) % 4}`);
    expect(rebuilt(before, after)).toEqual([before, after]);
  });
});

const text = (line: Line) => line.pieces.map((piece) => piece.text).join("");
const signs = { same: " ", gone: "-", new: "+" };

function unified(before: string, after: string): string[] {
  return changeOf(before, after).rows.map((row) =>
    row.kind === "gap" ? `… ${row.lines.length}` : signs[row.kind] + text(row),
  );
}

describe("rows", () => {
  test("a change is shown with its context; omitted lines are counted", () => {
    const before = "1\n2\n3\n4\n5\n6\nold\n7\n8\n9\n";
    expect(unified(before, before.replace("old", "new"))).toEqual([
      "… 3",
      ..." 4, 5, 6,-old,+new, 7, 8, 9".split(","),
    ]);
  });

  test("new, deleted, empty and equal files", () => {
    expect(unified("", "a\nb\n")).toEqual(["+a", "+b"]);
    expect(unified("a\n", "")).toEqual(["-a"]);
    expect(changeOf("", "").rows).toEqual([]);
    expect(unified("a\n", "a\n")).toEqual([" a"]);
  });

  test("lines have their numbers in both files", () => {
    const { rows, gone, added } = changeOf("a\nb\nc\n", "a\nx\ny\nc\n");
    expect(rows.map((row) => row.kind !== "gap" && [row.old, row.now])).toEqual([
      [1, 1],
      [2, undefined],
      [undefined, 2],
      [undefined, 3],
      [3, 4],
    ]);
    expect([gone, added]).toEqual([1, 2]);
  });

  test("the words that differ are marked, unless the line was replaced", () => {
    const pair = words("return values.count(x)", "return values.index(x)");
    const marked = pair?.map((pieces) =>
      pieces.filter((piece) => piece.marked).map((piece) => piece.text),
    );
    expect(marked).toEqual([["count"], ["index"]]);
    expect(pair?.map((pieces) => pieces.map((piece) => piece.text).join(""))).toEqual([
      "return values.count(x)",
      "return values.index(x)",
    ]);
    expect(words("import os", "raise ValueError(7)")).toBeNull();
    expect(words("a".repeat(5000), "b")).toBeNull();
  });

  test("side by side, old and new are in one row", () => {
    const pairs = pairsOf(changeOf("a\nb\nc\n", "a\nx\ny\nc\n").rows);
    const sides = pairs.map((pair) =>
      "kind" in pair ? pair.kind : pair.map((line) => (line ? text(line) : null)),
    );
    expect(sides).toEqual([
      ["a", "a"],
      ["b", "x"],
      [null, "y"],
      ["c", "c"],
    ]);
  });

  test("5,000 lines with a change in each seventh", () => {
    const before = Array.from({ length: 5000 }, (_, at) => `line ${at % 97}`);
    const after = before.map((each, at) => (at % 7 ? each : `${each} changed`));
    const { rows, gone, added } = changeOf(before.join("\n"), after.join("\n"));
    const old = rows.flatMap((row) =>
      row.kind === "same" || row.kind === "gone" ? [text(row)] : [],
    );
    expect(old).toEqual(before);
    expect([gone, added]).toEqual([715, 715]);
  });
});
