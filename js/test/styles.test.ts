// @vitest-environment node

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SRC = new URL("../src/", import.meta.url);
const files = readdirSync(new URL("styles/", SRC));
const sheet = readFileSync(new URL("styles.css", SRC), "utf-8");
/** The table of a fan-out has a sheet of its own, with what it shares with the session's. */
const runsSheet = readFileSync(new URL("runs.css", SRC), "utf-8");
const text = (file: string) => readFileSync(new URL(`styles/${file}`, SRC), "utf-8");

const LONGEST = 250;
/** Wider ones make room for one particular thing, and are no part of a scale. */
const SCALE_PX = 16;

const imported = (sheet: string) =>
  [...sheet.matchAll(/@import "\.\/styles\/(.+)";/g)].map((found) => found[1]);

test("the sheet imports every file, once", () => {
  expect(imported(sheet).sort()).toEqual(files.filter((file) => file !== "runs.css").sort());
});

test("the sheet of a fan-out's table imports its own file, and what that needs", () => {
  const shared = ["tokens", "base", "button", "icons", "path", "diff", "highlight", "operations"];
  const names = [...shared, "changes", "runs"].map((name) => `${name}.css`);
  expect(imported(runsSheet)).toEqual(names);
});

const others = files.filter((file) => file !== "tokens.css");

test.each(others)("%s uses distances, radii and font sizes from the tokens", (file) => {
  const declarations = [...text(file).matchAll(/^\s*([a-z-]+):\s*([^;]+);/gm)];
  const raw = declarations.filter(([, name = "", value = ""]) => {
    if (/^(margin|padding|gap|row-gap|column-gap)/.test(name))
      return [...value.matchAll(/(?<![\w.-])(\d+)px/g)].some(([, px]) => Number(px) <= SCALE_PX);
    if (/^border-.*radius$/.test(name)) return value !== "0" && !value.startsWith("var(");
    if (name === "font-size") return value !== "1em" && !value.startsWith("var(");
    return false;
  });
  expect(raw.map(([all]) => all.trim())).toEqual([]);
});

test.each(files)("%s is about one component", (file) => {
  expect(text(file).split("\n").length).toBeLessThan(LONGEST);
});

test("every token that is used is defined", () => {
  const all = files.map(text).join("\n");
  const defined = new Set([...all.matchAll(/(--acp-[\w-]+):/g)].map((found) => found[1]));
  const inline = ["--acp-ansi-fg", "--acp-ansi-bg", "--acp-ansi-light", "--acp-ansi-dark"];
  const used = [...all.matchAll(/var\((--acp-[\w-]+)/g)].map((found) => found[1]);
  expect(used.filter((name) => !defined.has(name) && !inline.includes(name ?? ""))).toEqual([]);
});
