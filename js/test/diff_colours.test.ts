import { expect, test } from "vitest";
import { colouring, firstColours, lacks, languageOfFile, split } from "../src/view/diff_colours";
import { changeOf, hunkRows } from "../src/view/diff_rows";
import type { Line, Row } from "../src/view/diff_rows";

test("the language goes by the name; a notebook is shown as its cells", () => {
  expect(["a.py", "A.IPYNB", "x/y.ts", "Makefile"].map(languageOfFile)).toEqual([
    "py",
    "python",
    "ts",
    "",
  ]);
});

function coloursOf(rows: readonly Row[], language: string) {
  const steps = colouring(rows, language);
  for (;;) {
    const { value } = steps.next();
    if (value) return value;
  }
}

test("both sides are coloured as code, also below a string that opened in a gap", () => {
  const before = `text = """\n${"words\n".repeat(10)}if old\n"""\n`;
  const { rows } = changeOf(before, before.replace("if old", "if new"));
  const colours = coloursOf(rows, "python");
  const lines = rows.filter((row): row is Line => row.kind === "gone" || row.kind === "new");
  expect(lines.map((line) => colours.get(line))).toEqual([
    [{ end: 6, style: "acp-hl-string" }],
    [{ end: 6, style: "acp-hl-string" }],
  ]);
});

test("the lines of a hunk are coloured", () => {
  const rows = hunkRows({ old_start: 1, new_start: 1, lines: ["-return 1", "+return 2", "\\ No"] });
  const colours = coloursOf(rows, "python");
  expect(colours.get(rows[0] as Line)?.[0]).toEqual({ end: 6, style: "acp-hl-keyword" });
  expect(coloursOf(rows, "unheard-of").size).toBe(0);
});

test("only the first part of a huge change is coloured", () => {
  const { rows } = changeOf("", "x = 1\n".repeat(20_000));
  const colours = coloursOf(rows, "python");
  expect(colours.size).toBeGreaterThan(1000);
  expect(colours.size).toBeLessThan(5000);
});

test("the first part of a change is coloured as it is in the whole", () => {
  const { rows } = changeOf("", 'x = "text"  # why\n'.repeat(1000));
  const lines = rows.filter((row): row is Line => row.kind !== "gap");
  const [few, all] = [firstColours(rows, "python"), coloursOf(rows, "python")];
  expect(few.size).toBeGreaterThan(100);
  expect(few.size).toBeLessThan(300);
  for (const line of lines) if (few.has(line)) expect(few.get(line)).toEqual(all.get(line));
  expect([lacks(lines.slice(0, 60), few, false), lacks(lines, few, false)]).toEqual([false, true]);
  expect(lacks(lines, all, false)).toBe(false);
  expect(lacks(lines, firstColours(rows, "unheard-of"), false)).toBe(false);
});

test("lines in a gap lack their colours only if they are to be drawn", () => {
  const before = "x = 1\n".repeat(2000);
  const { rows } = changeOf(`a = 1\n${before}`, `b = 1\n${before}`);
  const few = firstColours(rows, "python");
  expect([lacks(rows, few, false), lacks(rows, few, true)]).toEqual([false, true]);
  expect(lacks(rows, coloursOf(rows, "python"), true)).toBe(false);
});

test("a text is split where the colour changes", () => {
  const spans = [
    { end: 3, style: "a" },
    { end: 5, style: "" },
  ];
  expect(split("bcde", 1, spans)).toEqual([
    ["bc", "a"],
    ["de", ""],
  ]);
  expect(split("fg", 5, spans)).toEqual([["fg", ""]]);
  expect(split("b", 1, spans)).toEqual([["b", "a"]]);
});
