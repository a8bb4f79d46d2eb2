// @vitest-environment jsdom

import { expect, test } from "vitest";
import { decodeHTMLStrict } from "../../src/text/stubs/entities";
import { highlight } from "../../src/text/highlight";
import type { Part } from "../../src/text/highlight";
import { isLink, isPicture } from "../../src/text/links";
import { isPlainMath } from "../../src/text/math";
import { parse } from "../../src/text/parser";
import type { References } from "../../src/text/parser";
import { piecesOf } from "../../src/text/pieces";

function html(text: string): string {
  return parse(text, Object.create(null) as References)
    .map((block) => (block.kind === "html" ? block.html : block.pieces.join("")))
    .join("");
}

test.each([
  ["costs $5 and $6", 0],
  ["from $5-$6 or $5/$x", 0],
  ["between $5 and 10$", 0],
  ["US$5 and A$6", 0],
  ["set $HOME:$PATH and $HOME/bin and $X", 0],
  ["`$a$` and \\$x\\$ and $ x $", 0],
  ["a $`b`$ c", 0],
  ["\\[not a link\\] \\(nor this\\)", 0],
  ["$$", 0],
  ["$x$, ($y_1$) and $\\alpha \\$ \\beta$", 3],
  ["$1 + 1$ is \\(2\\) or \\[x = 2\\]", 3],
  ["$a_b$ and *c* $d_e$", 2],
  ["$$\nx *y* z\n$$", 1],
  ["text\n\\[\n\\begin{cases} a\\\\ b \\end{cases}\n\\]\nmore", 1],
  ["$$ a $$", 1],
  ["- item\n  $$\n  x\n  $$", 1],
])("formulas in %j", (text, count) => {
  expect(html(text).match(/class="acp-math/g)?.length ?? 0).toBe(count);
  if (count > 0) expect(html(text)).not.toContain("<em>y");
});

test.each([
  ["see https://a.example/x_y_z.", ["https://a.example/x_y_z"]],
  [
    "(https://a.example/b(c)d) and **https://b.example**",
    ["https://a.example/b(c)d", "https://b.example"],
  ],
  [
    "HTTP://A.example?x=1&y=*2*, mailto:a@b.example!",
    ["HTTP://A.example?x=1&amp;y=*2", "mailto:a@b.example"],
  ],
  ["[https://a.example](https://b.example)", ["https://b.example"]],
  [
    "`https://a.example` xhttps://a.example javascript:alert(1) README.md www.a.example https:// http:",
    [],
  ],
  ["<https://a.example>", ["https://a.example"]],
])("addresses in %j", (text, expected) => {
  const found = [...html(text).matchAll(/href="([^"]*)"/g)].map(([, address]) => address);
  expect(found).toEqual(expected);
});

test("a formula keeps its source", () => {
  expect(html("$a_1 < *b*$")).toBe('<p><span class="acp-math">$a_1 &lt; *b*$</span></p>\n');
});

test("no formula that could do more than typeset reaches the typesetter", () => {
  expect(isPlainMath("$\\frac{a}{b} \\hrefx$")).toBe(true);
  for (const name of ["href", "style", "class", "cssId", "def", "gdef", "let", "newcommand"])
    expect(isPlainMath(`$\\${name}{x}{y}$`), name).toBe(false);
  for (const name of ["require", "mmlToken", "csname", "unicode", "bbox", "DeclareMathOperator"])
    expect(isPlainMath(`$a + \\${name}[x]{y}$`), name).toBe(false);
  expect(isPlainMath("x".repeat(5000))).toBe(false);
});

function text(parts: readonly Part[]): string {
  return parts.map((part) => (typeof part === "string" ? part : text(part.parts))).join("");
}

test.each([
  ["python", "def f(x):\n    return '<b>' + \"&amp;\" # it's\n"],
  ["js", "const a = `${b}` < 1 && /x/;"],
  ["html", "<p class='x'>&lt;</p><script>1</script>"],
  ["r", "x <- c(1, 2) %>% f()"],
  ["sql", "SELECT * FROM t WHERE a = 'b'"],
  ["toml", "[a]\nb = 1"],
  ["c", "int main(void) { return 0; }"],
  ["console", "ls -la | grep x"],
])("colours in %s change no text", (language, source) => {
  const parts = highlight(source, language) ?? [];
  expect(text(parts)).toBe(source);
  expect(parts.some((part) => typeof part !== "string" && /^acp-hl-\w+$/.test(part.style))).toBe(
    true,
  );
});

function styled(parts: readonly Part[]): string[] {
  return parts.flatMap((part) =>
    typeof part === "string" ? [] : [`${part.style.slice(7)} ${text(part.parts)}`],
  );
}

test.each([
  [
    "ts",
    "export class Cat { name: string = 'it\\'s' } // a cat",
    [
      "keyword export",
      "keyword class",
      "title Cat",
      "built_in string",
      "string 'it\\'s'",
      "comment // a cat",
    ],
  ],
  [
    "rust",
    "#[test]\nfn first<'a>(x: &'a str) -> u8 { 0xff }",
    ["meta #[test]", "keyword fn", "title first", "built_in str", "built_in u8", "number 0xff"],
  ],
  [
    "go",
    "func main() { defer f(`a\nb`) }",
    ["keyword func", "title main", "keyword defer", "title f", "string `a\nb`"],
  ],
  [
    "cpp",
    '#include "a.h"\nint x = 1;',
    ["meta #include", 'string "a.h"', "built_in int", "number 1"],
  ],
  [
    "julia",
    'function half(x::Int) # of it\n  @show x / 2.5; """two\nlines""" * "one" end',
    [
      "keyword function",
      "title half",
      "built_in Int",
      "comment # of it",
      "meta @show",
      "number 2.5",
      'string """two\nlines"""',
      'string "one"',
      "keyword end",
    ],
  ],
  ["jl", "x = a' * b'; c = 'q'", ["string 'q'"]],
  [
    "sql",
    "SELECT count(*) FROM \"from\" WHERE a = 'it''s' -- all",
    [
      "keyword SELECT",
      "built_in count",
      "keyword FROM",
      "keyword WHERE",
      "string 'it''s'",
      "comment -- all",
    ],
  ],
  [
    "sql",
    "create TABLE t (a int not null)",
    ["keyword create", "keyword TABLE", "type int", "keyword not", "literal null"],
  ],
])("our grammar of %s tells words, texts and comments apart", (language, source, expected) => {
  expect(styled(highlight(source, language) ?? [])).toEqual(expected);
});

test("unknown languages and long code are not highlighted", () => {
  expect(highlight("x", "nosuch")).toBeNull();
  expect(highlight("x", "constructor")).toBeNull();
  expect(highlight("x", "")).toBeNull();
  expect(highlight("x = 1\n".repeat(5000), "python")).toBeNull();
});

test("links and pictures", () => {
  for (const good of ["https://x.example", "HTTP://x", "mailto:a@b"])
    expect(isLink(good)).toBe(true);
  for (const bad of [
    "javascript:1",
    " https://x",
    "https://x\n",
    "//x",
    "x",
    "https://a\u202eb",
    "data:,x",
  ])
    expect(isLink(bad), bad).toBe(false);
  expect(isPicture("data:image/png;base64,aGk=")).toBe(true);
  for (const bad of [
    "data:image/svg+xml;base64,aGk=",
    "data:image/png;base64,a,b",
    "https://x/y.png",
  ])
    expect(isPicture(bad), bad).toBe(false);
});

test("pieces are the text, small, cut after lines, and do not depend on the chunks", () => {
  for (const source of [
    "word ".repeat(9000),
    "a line\n".repeat(9000),
    "😀".repeat(9000),
    "a\n\nb",
    "",
  ]) {
    const pieces = piecesOf(source);
    expect(pieces.join("")).toBe(source);
    for (const piece of pieces) {
      expect(piece.length).toBeLessThanOrEqual(8192);
      expect(piece).not.toMatch(/^[\udc00-\udfff]/);
    }
  }
  expect(piecesOf("a line\n".repeat(900)).every((piece) => piece.endsWith("\n"))).toBe(true);
});

test("a word that would take the page minutes to wrap is cut", () => {
  const word = "A".repeat(5000);
  const kinds = (text: string) => parse(text, Object.create(null) as References);
  const [block] = kinds(`so: ${word} *end*`);
  expect(block?.kind === "plain" && block.pieces.map(({ length }) => length)).toEqual([
    1004, 1000, 1000, 1000, 1000, 6,
  ]);
  expect(kinds(`![x](data:image/png;base64,${word})`)[0]?.kind).toBe("html");
});

test("entities are those of the browser", () => {
  expect(decodeHTMLStrict("&amp;")).toBe("&");
  expect(decodeHTMLStrict("&copy;")).toBe("©");
  expect(decodeHTMLStrict("&lt;")).toBe("<");
  expect(decodeHTMLStrict("&NotEqualTilde;")).toBe("≂̸");
  expect(decodeHTMLStrict("&nosuch;")).toBe("&nosuch;");
  expect(decodeHTMLStrict("&amp")).toBe("&amp");
});

test.each([
  ["# a\n\n## b\n\n# c", "h2 h3 h2"],
  ["### a\n\n#### b\n\n###### c\n\n## d", "h2 h3 h4 h3"],
  ["###### a\n\n###### b", "h2 h3"],
  ["# a\n\n> ### b\n\n- #### c", "h2 h3 h4"],
  ["# a\n## b\n### c\n#### d\n##### e\n###### f", "h2 h3 h4 h5 h6 h6"],
])("no level of headings is left out: %j", (source, levels) => {
  const made = html(source);
  expect([...made.matchAll(/<(h\d)>/g)].map((found) => found[1]).join(" ")).toBe(levels);
  expect([...made.matchAll(/<\/(h\d)>/g)].map((found) => found[1]).join(" ")).toBe(levels);
});
