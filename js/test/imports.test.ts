// @vitest-environment node

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SRC = new URL("../src/", import.meta.url);

function imports(file: string): string[] {
  const text = readFileSync(new URL(file, SRC), "utf-8");
  return [...text.matchAll(/from "(\.[^"]+)"/g)].map((found) => found[1] ?? "");
}

const ALLOWED: Record<string, string[]> = {
  "types.ts": [],
  "frame.ts": [],
  "patches.ts": ["./types"],
  "turns.ts": ["./types"],
  "static.ts": ["./turns", "./types"],
  "document.ts": ["./types"],
  "hash.ts": [],
  "remote.ts": [],
  "cells.ts": [],
  "live.ts": ["./cells", "./document", "./hash", "./remote", "./types"],
  "store.ts": ["./frame", "./patches", "./turns", "./types"],
  "comm_workaround.ts": [],
  "typesetter.ts": [],
  "reveal.ts": [],
  "open_file.ts": ["./live", "./reveal", "./types"],
  "link.ts": ["./comm_workaround", "./store", "./types"],
};

test.each(Object.entries(ALLOWED))("%s imports only what is below it", (file, allowed) => {
  expect(allowed).toEqual(expect.arrayContaining([...new Set(imports(file))]));
});

const views = readdirSync(new URL("view/", SRC));

test.each(views)("view/%s knows neither the model nor the document", (file) => {
  for (const path of imports(`view/${file}`))
    expect(path).toMatch(/^\.\/|^\.\.\/(types|store|turns|text\/\w+)$/);
});

const texts = readdirSync(new URL("text/", SRC)).filter((file) => file.endsWith(".ts"));

test.each(texts)("text/%s knows only text", (file) => {
  for (const path of imports(`text/${file}`)) expect(path).toMatch(/^\.\//);
});

test("no view makes HTML of a text", () => {
  for (const file of views) {
    const text = readFileSync(new URL(`view/${file}`, SRC), "utf-8");
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML/i);
  }
});
