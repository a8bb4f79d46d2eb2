import { expect, test } from "vitest";
import { coloursOf, languageOfFile, split } from "../src/view/diff_colours";
import { changeOf, hunkRows } from "../src/view/diff_rows";
import type { Line } from "../src/view/diff_rows";

test("the language goes by the name; a notebook is shown as its cells", () => {
  expect(["a.py", "A.IPYNB", "x/y.ts", "Makefile"].map(languageOfFile)).toEqual([
    "py",
    "python",
    "ts",
    "",
  ]);
});

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
