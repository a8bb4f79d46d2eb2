import { expect, test } from "vitest";
import { exact, exactInline, exactLines, visible } from "../../src/text/visible";
import type { Part } from "../../src/text/visible";

/** Markers in brackets of their own. */
const told = (parts: readonly Part[]) =>
  parts.map(({ text, marker }) => (marker ? `[${text}]` : text)).join("");

test.each([
  ["a b  c", "a b  c"],
  [`a${" ".repeat(8)}b`, `a${" ".repeat(8)}b`],
  [`a${" ".repeat(9)}b`, "a[‹9 spaces›]b"],
  [`a${" ".repeat(2100)}b`, "a[‹2,100 spaces›]b"],
  [`a${" \t".repeat(9)}b`, "a[‹18 blanks›]b"],
  [`a${"\t".repeat(9)}b`, "a[‹9 tabs›]b"],
  ["a\tb", "a[⇥]b"],
  ["\t\tb", "\t\tb"],
  [`${" ".repeat(40)}b`, `${" ".repeat(40)}b`],
  [`${" ".repeat(41)}b`, "[‹41 spaces›]b"],
  [`${"\t".repeat(11)}b`, "[‹11 tabs›]b"],
  ["a \t", "a[·⇥]"],
  ["a \\  ", "a \\[··]"],
  ["   ", "[···]"],
  ["a\r", "a[␍]"],
  ["a  \r", "a[··][␍]"],
  ["a\rb", "a[‹U+000D›]b"],
  ["rm\u00a0-rf", "rm[‹U+00A0›]-rf"],
  ["a\u2003b\u3000c\u2800d", "a[‹U+2003›]b[‹U+3000›]c[‹U+2800›]d"],
  ["a\u200b\u200bb", "a[‹U+200B›‹U+200B›]b"],
  [`a${"\u200b".repeat(1500)}b`, "a[‹U+200B × 1,500›]b"],
  ["\u202eevil", "[‹U+202E›]evil"],
  ["a\x1b[31m\x07", "a[‹U+001B›][31m[‹U+0007›]"],
  ["a\ud800b", "a[‹U+D800›]b"],
  ["a\u{e0041}b", "a[‹U+E0041›]b"],
  ["❤\ufe0f ok", "❤\ufe0f ok"],
  ["l\ufe0fs", "l[‹U+FE0F›]s"],
  ["e\u0301\u0302 ok", "e\u0301\u0302 ok"],
  [`e${"\u0301".repeat(40)}`, "e[‹40 combining marks›]"],
  ["日本語 and \u05d0", "日本語 and \u05d0"],
])("%j", (text, expected) => {
  expect(told(exact(text))).toBe(expected);
});

test("a part of a line has neither its beginning nor its end", () => {
  expect(told(exact("  a  ", false, false))).toBe("  a  ");
  expect(told(exact("\ta\t", false, false))).toBe("[⇥]a[⇥]");
});

test.each([
  ["a\n\n\n\nb", ["a", "", "", "", "b"]],
  ["a\n\n\n\n\nb\n", ["a", "[‹4 empty lines›]", "b"]],
  [`a${"\n".repeat(231)}b`, ["a", "[‹230 empty lines›]", "b"]],
  [`a\n${" \n".repeat(9)}b`, ["a", "[‹9 empty lines›]", "b"]],
  ["", [""]],
  ["\n", [""]],
  ["a\n", ["a"]],
])("lines of %j", (text, expected) => {
  expect(exactLines(text).map(told)).toEqual(expected);
});

test("a name is one line", () => {
  expect(told(exactInline("a\nb\n"))).toBe("a[⏎]b[⏎]");
});

test("nothing is lost but what a marker names", () => {
  const text = "x".repeat(100_000);
  expect(told(exact(text))).toBe(text);
});

test("marks that stack are named wherever text is made visible", () => {
  expect(visible(`a${"\u0301".repeat(9)}b\u0301`)).toBe("a‹9 combining marks›b\u0301");
});
