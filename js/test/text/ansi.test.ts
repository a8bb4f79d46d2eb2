// @vitest-environment node

import { describe, expect, test } from "vitest";
import { MAX_COST, MAX_LINES, PAGE, Screen, TerminalOutput, plainText } from "../../src/text/ansi";
import { PLAIN, lookOf, restyled } from "../../src/text/ansi_style";
import { chunks, random } from "./corpus";

function lines(text: string): string[] {
  const screen = new Screen();
  screen.write(text);
  return plainText(screen.pages).split("\n");
}

describe("what a terminal shows", () => {
  test.each([
    ["a progress bar", "  0%\r 50%\r100%\ndone", ["100%", "done"]],
    ["a shorter text over a longer one", "abcdef\rxy", ["xycdef"]],
    ["erased to the end", "abcdef\rxy\x1b[K", ["xy"]],
    ["erased to the cursor", "abc\x1b[2D\x1b[1K|", [" |c"]],
    ["erased line", "abc\x1b[2Kd", ["   d"]],
    ["backspace", "abc\b\bX", ["aXc"]],
    ["bars above each other", "one\ntwo\n\x1b[2A\x1b[2Kuno\x1b[1B\rdos\n", ["uno", "dos", ""]],
    ["columns", "\x1b[5Gx\x1b[3D-\x1b[2Cy", ["  - xy"]],
    ["windows' newlines", "a\r\nb\r\n", ["a", "b", ""]],
    ["a title", "\x1b]0;title\x07text\x1b]2;t\x1b\\!", ["text!"]],
    ["a link", "\x1b]8;;https://x.example\x1b\\here\x1b]8;;\x1b\\", ["here"]],
    ["a title that never ends", "\x1b]0;shown\nstill", ["0;shown", "still"]],
    ["device control", "\x1bPq#0\x1b\\a\x1b_b\x1b\\c", ["ac"]],
    [
      "private modes and character sets",
      "\x1b[?25l\x1b[?1049h\x1b(Ba\x1b=\x1b>b\x1b7\x1b8",
      ["ab"],
    ],
    ["bells and other controls", "a\x07\x00\x0e\x7fb", ["ab"]],
    ["signs of direction", "ls \u202etxt", ["ls ‹U+202E›txt"]],
    ["beyond the basic plane", "😀😀\rx", ["x😀"]],
    ["a broken sequence", "a\x1b[12\nb", ["a", "b"]],
  ])("%s", (_, text, expected) => {
    expect(lines(text)).toEqual(expected);
  });
});

test("whatever the chunks are, the screen is the same", () => {
  const text =
    "\x1b[1;31mred\x1b[0m \x1b[38;5;208mo\x1b[38;2;1;2;3mt\x1b]0;x\x07\x1b[48:2::9:8:7mb\r\n50%\r\x1b[K100%\b!\n".repeat(
      30,
    ) + "\x1b]8;;x\x1b\\l\x1b]8;;\x1b\\\x1b[2A\x1b[7mup";
  const whole = new Screen();
  whole.write(text);
  for (let seed = 0; seed < 30; seed++) {
    const screen = new Screen();
    for (const chunk of chunks(text, random(seed))) screen.write(chunk);
    expect(screen.pages).toEqual(whole.pages);
  }
});

test("finished pages keep their identity; old ones are dropped and counted", () => {
  const output = new TerminalOutput();
  let text = "";
  for (let at = 0; at < 100; at++) {
    const before = output.pages;
    text += "a line\n".repeat(PAGE);
    output.update(text);
    for (const page of before.slice(1, -3))
      expect(output.pages.find(({ key }) => key === page.key)).toBe(page);
  }
  const kept = output.pages.flatMap(({ lines }) => lines).length;
  expect(kept).toBeLessThanOrEqual(MAX_LINES + 3 * PAGE);
  expect(output.gone + kept).toBe(100 * PAGE + 1);
});

test("many colours cost many lines", () => {
  const screen = new Screen();
  const rainbow = Array.from({ length: 60_000 }, (_, at) => `\x1b[38;5;${at % 256}mx`).join("");
  screen.write(rainbow.replaceAll("255mx", "255mx\n"));
  const runs = screen.pages.flatMap(({ lines }) => lines.flat());
  expect(runs.length).toBeLessThan(MAX_COST / 40 + 110 * 256);
});

test("only the end of a long text is read; a different text starts over", () => {
  const output = new TerminalOutput();
  const text = "0123456789\n".repeat(80_000);
  output.update(text);
  expect(output.gone + output.pages.flatMap(({ lines }) => lines).length).toBe(80_000 + 1);
  output.update("new");
  expect(plainText(output.pages)).toBe("new");
  expect(output.gone).toBe(0);
});

test("long output is read in parts, with the same result as at once", () => {
  const line = Array.from({ length: 12 }, (_, n) => `\x1b[${30 + (n % 8)}mword😀\x1b[0m `).join("");
  const flood = `${line}\n`.repeat(3000);
  const [parts, whole] = [new TerminalOutput(), new TerminalOutput()];
  whole.update(flood);
  expect(whole.behind).toBe(false);
  let calls = 0;
  do parts.update(flood, 1001);
  while (parts.behind && ++calls < 10_000);
  expect(calls).toBeGreaterThan(10);
  expect(plainText(parts.pages)).toBe(plainText(whole.pages));
  expect(parts.gone).toBe(whole.gone);
  expect(parts.pages.flatMap(({ lines }) => lines).length + parts.gone).toBe(3001);
});

test("output that arrives in the meantime is read, too", () => {
  const output = new TerminalOutput();
  output.update("abc\ndef", 2);
  expect(output.behind).toBe(true);
  output.update("abc\ndef\nghi", 4);
  output.update("abc\ndef\nghi", 100);
  expect(output.behind).toBe(false);
  expect(plainText(output.pages)).toBe("abc\ndef\nghi");
});

test("at least as much is read as is kept", () => {
  const text = Array.from(
    { length: 5000 },
    (_, n) => `\x1b[3${n % 8}m${n} of the lines\x1b[0m`,
  ).join("\n");
  const [whole, grown] = [new TerminalOutput(), new TerminalOutput()];
  whole.update(text);
  for (let end = 1000; end < text.length + 1000; end += 1000) grown.update(text.slice(0, end));
  const count = (output: TerminalOutput) => output.pages.flatMap(({ lines }) => lines).length;
  expect(count(whole)).toBeGreaterThanOrEqual(count(grown) - PAGE);
});

test("a long line is broken", () => {
  expect(lines("x".repeat(4500)).map(({ length }) => length)).toEqual([2000, 2000, 500]);
});

describe("styles", () => {
  test.each([
    ["1;31", { bold: true, fg: 1 }],
    ["97;104", { fg: 15, bg: 12 }],
    ["38;5;208;4", { fg: 208, underline: true }],
    ["38;2;1;2;3;7", { fg: "#010203", inverse: true }],
    ["38:2::1:2:300", { fg: "#0102ff" }],
    ["48:5:9", { bg: 9 }],
    ["4:0", {}],
    ["8", {}],
    ["38;5", {}],
    ["", {}],
    ["99999;;", {}],
  ])("%s", (parameters, expected) => {
    expect(restyled(PLAIN, parameters)).toEqual({ ...PLAIN, ...expected });
  });

  test("end as they began", () => {
    const all = restyled(PLAIN, "1;2;3;4;7;9;31;42");
    expect(restyled(all, "22;23;24;27;29;39;49")).toBe(PLAIN);
    expect(restyled(all, "0")).toBe(PLAIN);
  });

  test("no text has the colour of its background", () => {
    const shown = lookOf(restyled(PLAIN, "38;2;10;10;10;48;2;10;10;10")).values;
    expect(shown).toEqual({ "--acp-ansi-fg": "#ffffff", "--acp-ansi-bg": "#0a0a0a" });
    const { values } = lookOf(restyled(PLAIN, "38;2;255;255;0"));
    expect(values["--acp-ansi-dark"]).toBe("#ffff00");
    expect(values["--acp-ansi-light"]).not.toBe("#ffff00");
  });
});
