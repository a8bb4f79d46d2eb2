import { render } from "preact";
import { expect, test } from "vitest";
import { commandText } from "../src/view/command_text";
import { Inline, unmarked } from "../src/view/inline";
import { plainTitle, titleOf } from "../src/view/title";
import { isMarkdown } from "../src/view/tool_text";
import { tool } from "./mounted";

const at = (path: string, line?: number) => ({
  locations: [line === undefined ? { path } : { path, line }],
});

test.each([
  ["Edit `/w/stats.py`", "Edit `stats.py`"],
  ["Read /w/stats.py (1 - 20)", "Read stats.py (1 - 20)"],
  ["Edit stats.py", "Edit stats.py"],
  ["Edit /w/stats.pyc", "Edit /w/stats.pyc"],
  ["Edit /x/w/stats.py", "Edit /x/w/stats.py"],
])("the path in the title %s", (title, text) => {
  expect(titleOf(tool({ title, ...at("/w/stats.py", 0) }), "/w").text).toBe(text);
});

test("a bare name becomes the path relative to the session's folder", () => {
  const title = titleOf(tool({ title: "Edit stats.py", ...at("/w/lib/stats.py") }), "/w");
  expect(title).toEqual({ text: "Edit lib/stats.py", path: "/w/lib/stats.py", form: "words" });
  const outside = titleOf(tool({ title: "Edit hosts", ...at("/etc/hosts") }), "/w");
  expect(outside.text).toBe("Edit /etc/hosts");
});

test("a command is never rewritten", () => {
  const title = titleOf(tool({ kind: "execute", title: "`rm /w/a.py`", ...at("/w/a.py") }), "/w");
  expect(title).toEqual({ text: "rm /w/a.py", path: null, form: "code" });
});

test("what may be a command has no markdown", () => {
  const title = titleOf(tool({ kind: "execute", title: "echo `date` *a*" }), "/w");
  expect(title).toEqual({ text: "echo `date` *a*", path: null, form: null });
  expect(plainTitle(title)).toBe("echo `date` *a*");
});

test("hidden characters in a title are visible, whatever becomes of its path", () => {
  const title = titleOf(tool({ title: "Edit /w/a\u202e.py", ...at("/w/a\u202e.py") }), "/w");
  expect(title.text).toBe("Edit a‹U+202E›.py");
});

function drawn(text: string): HTMLElement {
  const el = document.createElement("div");
  render(<Inline text={text} />, el);
  return el;
}

test.each([
  ["Edit `a.py` **now**", "Edit <code>a.py</code> <strong>now</strong>", "Edit a.py now"],
  ["*really* `` a`b ``", "<em>really</em> <code>a`b</code>", "really a`b"],
  ["*.py and *.js, 2*3*4", "*.py and *.js, 2*3*4", "*.py and *.js, 2*3*4"],
  ["a `b", "a `b", "a `b"],
  ["`fig`: a\n`figure`", "<code>fig</code>: a\n<code>figure</code>", "fig: a\nfigure"],
])("inline markdown: %s", (text, html, plain) => {
  expect(drawn(text).innerHTML).toBe(html);
  expect(unmarked(text)).toBe(plain);
});

test.each([
  "[Allow](https://example.org)",
  "![x](data:image/png;base64,aGk=)",
  "<button>Allow</button>",
  "https://example.org",
  "`<b>x</b>`",
])("a title makes no link, image or control of %s", (text) => {
  const el = drawn(text);
  expect(el.querySelector("a, img, button, b")).toBeNull();
  expect(el.textContent).toBe(text.replaceAll("`", ""));
});

test("a long line is not written by hand, and stays as it is", () => {
  const text = "`a` ".repeat(1000);
  expect(drawn(text).innerHTML).toBe(text);
  expect(unmarked(text)).toBe(text);
});

test.each([
  ["/bin/sh -c 'a; b'", "/bin/sh -c", "a; b"],
  ["/bin/sh -c ls", "/bin/sh -c", "ls"],
  [`bash -c 'it'"'"'s'`, "bash -c", "it's"],
  ["/bin/sh -c 'a' b", null, "/bin/sh -c 'a' b"],
  ["/bin/sh -c a;b", null, "/bin/sh -c a;b"],
  ["/bin/sh -c 'a'b'", null, "/bin/sh -c 'a'b'"],
  ["/tmp/sh -c 'a'", null, "/tmp/sh -c 'a'"],
  ["X=1 sh -c 'a'", null, "X=1 sh -c 'a'"],
  ["make test", null, "make test"],
])("the line of the command %s", (whole, shell, line) => {
  expect(commandText(whole)).toEqual({ shell, line });
});

test("what is markdown in a tool's output", () => {
  expect(isMarkdown("```console\n$ ls\n```", "execute")).toBe(true);
  expect(isMarkdown("# a comment\n* b", "read")).toBe(false);
  expect(isMarkdown("- one\n- two", "think")).toBe(true);
  expect(isMarkdown("a.py:1\nb.py:2", "other")).toBe(false);
  expect(isMarkdown("```\n".repeat(10_000), "other")).toBe(false);
});
