import { expect, test } from "vitest";
import table from "../../../tests/data/visible.json";
import { exact, exactInline, exactLines, visible } from "../../src/text/visible";
import type { Part } from "../../src/text/visible";

/** Shared with the Python side: a text, and how it is drawn. */
const cases = table as [string, string][];

/** Markers in brackets of their own. */
const written = (parts: readonly Part[]) =>
  parts.map(({ text, marker }) => (marker ? `[${text}]` : text)).join("");

test.each(cases)("%j", (text, expected) => {
  const drawn = exactLines(text).map((parts) => parts.map((part) => part.text).join(""));
  expect(drawn.join("\n")).toBe(expected);
});

test("a part of a line has neither its beginning nor its end", () => {
  expect(written(exact("  a  ", false, false))).toBe("  a  ");
  expect(written(exact("\ta\t", false, false))).toBe("[⇥]a[⇥]");
});

test("a name is one line", () => {
  expect(written(exactInline("a\nb\n"))).toBe("a[⏎]b[⏎]");
});

test("only what a marker names is removed", () => {
  const text = "x".repeat(100_000);
  expect(written(exact(text))).toBe(text);
});

test("stacked marks are named wherever text is made visible", () => {
  expect(visible(`a${"\u0301".repeat(9)}b\u0301`)).toBe("a‹9 combining marks›b\u0301");
});
