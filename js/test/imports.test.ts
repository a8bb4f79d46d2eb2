// @vitest-environment node

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SRC = new URL("../src/", import.meta.url);

function imports(file: string): string[] {
  const text = readFileSync(new URL(file, SRC), "utf-8");
  return [...text.matchAll(/from "(\.[^"]+)"/g)].map((found) => found[1] ?? "");
}

const ALLOWED: Record<string, string[]> = {
  "types.ts": ["./page_types"],
  "page_types.ts": ["./types"],
  "frame_schedule.ts": [],
  "patches.ts": ["./types"],
  "turns.ts": ["./types"],
  "static.ts": ["./turns", "./types"],
  "document.ts": ["./static", "./types"],
  "turn.js": [],
  "source_hash.ts": [],
  "remote_content.ts": [],
  "host_cells.ts": ["./shell"],
  "live.ts": ["./host_cells", "./document", "./source_hash", "./remote_content", "./types"],
  "store.ts": ["./frame_schedule", "./patches", "./turns", "./types"],
  "comm_workaround.ts": [],
  "typesetter.ts": [],
  "reveal_cell.ts": [],
  "open_file.ts": ["./live", "./reveal_cell", "./types"],
  "server_terminal.ts": ["./live", "./types"],
  "shell.ts": ["./store", "./types"],
  "agents.ts": ["./document", "./shell", "./types", "./view/agents_alone"],
  "runs_store.ts": ["./frame_schedule", "./static", "./types"],
  "runs.ts": [
    "./comm_workaround",
    "./document",
    "./frame_schedule",
    "./runs_store",
    "./types",
    "./view/runs",
  ],
  "attention.ts": ["./store", "./turns"],
  "notifications.ts": ["./attention", "./store", "./view/host"],
  "link.ts": ["./comm_workaround", "./store", "./types"],
  // The only file that knows all the parts.
  "index.ts": [
    "./host_cells",
    "./document",
    "./frame_schedule",
    "./link",
    "./live",
    "./notifications",
    "./open_file",
    "./reveal_cell",
    "./server_terminal",
    "./shell",
    "./static",
    "./store",
    "./turns",
    "./types",
    "./typesetter",
    "./view/mount",
    "./view/places",
  ],
};

test("every file has its rule", () => {
  const files = readdirSync(SRC).filter((name) => /\.[jt]sx?$/.test(name));
  expect(files.sort()).toEqual(Object.keys(ALLOWED).sort());
});

test.each(Object.entries(ALLOWED))("%s imports only what is below it", (file, allowed) => {
  expect(allowed).toEqual(expect.arrayContaining([...new Set(imports(file))]));
});

const views = readdirSync(new URL("view/", SRC));

test.each(views)("view/%s knows neither the model nor the document", (file) => {
  for (const path of imports(`view/${file}`))
    expect(path).toMatch(/^\.\/|^\.\.\/(types|store|turns|frame_schedule|text\/\w+)$/);
});

test("every folder has its rule", () => {
  const folders = readdirSync(SRC, { withFileTypes: true }).filter((it) => it.isDirectory());
  expect(folders.map(({ name }) => name).sort()).toEqual(["styles", "text", "view"]);
});

const texts = readdirSync(new URL("text/", SRC), { recursive: true })
  .map(String)
  .filter((file) => file.endsWith(".ts"));

test.each(texts)("text/%s knows only text", (file) => {
  for (const path of imports(`text/${file}`)) expect(path).toMatch(/^\.\//);
});

test("no view makes HTML of a text", () => {
  for (const file of views) {
    const text = readFileSync(new URL(`view/${file}`, SRC), "utf-8");
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML/i);
  }
});

const LAB = new URL("../lab/src/", import.meta.url);
const extension = readdirSync(LAB).filter((file) => file.endsWith(".ts"));

test.each(extension)(
  "lab/%s draws nothing of a conversation, and makes no HTML of a text",
  (file) => {
    const text = readFileSync(new URL(file, LAB), "utf-8");
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|from "preact/i);
    for (const [, path] of text.matchAll(/from "(\.\.[^"]+)"/g))
      expect(path).toMatch(
        /^\.\.\/\.\.\/src\/(document|host_cells|live|shell|static|store|turns|types|view\/(display_text|state_words|usage))$/,
      );
  },
);

test("the widgets know nothing of the extension", () => {
  for (const file of readdirSync(SRC, { recursive: true }).map(String))
    if (/\.[jt]sx?$/.test(file))
      for (const path of imports(file)) expect(path).not.toMatch(/lab\//);
});
