import { beforeEach, expect, test, vi } from "vitest";
import type { Command } from "../src/types";
import { matching } from "../src/view/completion";
import { atEdge, History } from "../src/view/history";
import { MOST_CHARS, MOST_IMAGES, withFiles } from "../src/view/images";
import { turn } from "./helpers";
import { press, settled, shown, wired } from "./mounted";

beforeEach(() => document.body.replaceChildren());

const COMMANDS: Command[] = [
  { name: "tour", description: "See everything" },
  { name: "stream", description: "Stream", hint: "count" },
  { name: "restore", description: "Restore" },
];

const DONE = turn({ status: "done" });

function composer(items = [DONE], session = {}) {
  const made = shown(items, null, { status: "idle", commands: COMMANDS, ...session });
  wired(made);
  const field = made.find<HTMLTextAreaElement>("[data-acp-composer] textarea");
  if (!field) throw new Error("no field");
  const write = async (text: string) => {
    field.value = text;
    field.setSelectionRange(text.length, text.length);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await settled();
  };
  const key = async (name: string, more = {}) => {
    press(field, name, more);
    await settled();
  };
  const sent = () => made.emit.mock.calls.map(([it]) => it).filter(({ t }) => t !== "draft");
  return { ...made, field, write, key, sent };
}

test("only the session's panel has a field", () => {
  expect(shown([turn()], "t1").find("[data-acp-composer]")).toBeNull();
});

test("Enter sends and empties the field; Shift+Enter does not; nothing is not sent", async () => {
  const { field, write, key, sent } = composer();
  await key("Enter");
  await write("  \n");
  await key("Enter");
  await write("Fix it");
  await key("Enter", { shiftKey: true });
  await key("Enter", { isComposing: true });
  expect(sent()).toEqual([]);
  await key("Enter");
  expect(sent()).toEqual([{ t: "prompt", text: "Fix it" }]);
  expect(field.value).toBe("");
});

test("the button sends, too", async () => {
  const { find, write, sent } = composer();
  expect(find<HTMLButtonElement>("[data-acp-send]")?.disabled).toBe(true);
  await write("Go");
  find("[data-acp-send]")?.click();
  await settled();
  expect(sent()).toEqual([{ t: "prompt", text: "Go" }]);
});

test("Up and Down bring earlier prompts, and what was being written", async () => {
  const second = turn({ key: "k2", turn: "k2", id: "t2", number: 2, status: "done" });
  const first = turn({ status: "done", prompt: [{ type: "text", text: "First" }] });
  const { field, write, key } = composer([first, second]);
  await write("New");
  await key("ArrowUp");
  expect(field.value).toBe("Fix it");
  await key("ArrowUp");
  expect(field.value).toBe("First");
  await key("ArrowUp");
  expect(field.value).toBe("First");
  await key("ArrowDown");
  await key("ArrowDown");
  expect(field.value).toBe("New");
});

test("a caret within the text moves in it first", () => {
  expect(atEdge(-1, "one\ntwo", 5, 5)).toBe(false);
  expect(atEdge(-1, "one\ntwo", 2, 2)).toBe(true);
  expect(atEdge(1, "one\ntwo", 2, 2)).toBe(false);
  expect(atEdge(1, "one\ntwo", 7, 7)).toBe(true);
  expect(atEdge(1, "one", 0, 3)).toBe(false);
  expect(new History().move(1, ["a"], "")).toBeNull();
});

test("commands that fit: those that begin so first", () => {
  const names = (text: string, caret = text.length) =>
    matching(text, caret, COMMANDS).map(({ name }) => name);
  expect(names("/")).toEqual(["tour", "stream", "restore"]);
  expect(names("/ST")).toEqual(["stream", "restore"]);
  expect(names("/tour x")).toEqual([]);
  expect(names("a /t")).toEqual([]);
  expect(names("/tour", 2)).toEqual([]);
});

test("a command is chosen by keyboard, and sent when it is written out", async () => {
  const { el, field, find, write, key, sent } = composer();
  await write("/st");
  const options = [...el.querySelectorAll("[role=option]")];
  expect(options.map((option) => option.getAttribute("aria-selected"))).toEqual(["true", "false"]);
  expect(field.getAttribute("aria-activedescendant")).toBe(options[0]?.id);
  await key("ArrowDown");
  expect(field.getAttribute("aria-activedescendant")).toBe(options[1]?.id);
  await key("Tab");
  expect(field.value).toBe("/restore ");
  expect(find("[role=listbox]")).toBeNull();
  await write("/tour");
  await key("Enter");
  expect(sent()).toEqual([{ t: "prompt", text: "/tour" }]);
});

test("Escape closes the list, and only that; the mouse takes a command", async () => {
  const { el, field, find, write, key } = composer();
  await write("/t");
  await key("Escape");
  expect([find("[role=listbox]"), field.value]).toEqual([null, "/t"]);
  await write("/to");
  el.querySelector("[role=option]")?.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
  await settled();
  expect(field.value).toBe("/tour ");
});

test("while a turn runs there is a stop button, and prompts wait in a list", () => {
  const { el, find, store, frames, sent } = composer([turn()]);
  find("[data-acp-stop]")?.click();
  expect(sent()).toEqual([{ t: "cancel", turn: "t1" }]);
  expect(el.querySelectorAll("[data-acp-stop]").length).toBe(1);
  store.receive({ t: "now", queue: [{ turn: "t2", text: "Then this" }], elapsed: 3 });
  frames.draw();
  expect(find("[data-acp-queue]")?.textContent).toContain("Then this");
});

test("a draft outlives its view", async () => {
  const { store, write, controller, emit } = composer();
  await write("half a");
  controller.abort();
  expect(store.draft.text).toBe("half a");
  const { mountView } = await import("../src/view/mount");
  const el = document.createElement("div");
  mountView(store, emit, null, el, new AbortController().signal);
  expect(el.querySelector("textarea")?.value).toBe("half a");
});

test("without its kernel, or when it is closed, nothing can be written", () => {
  const { store, frames, field } = composer();
  store.setLink("gone");
  frames.draw();
  expect([field.disabled, field.placeholder]).toEqual([true, "Disconnected"]);
  expect(composer([DONE], { status: "closed" }).field.disabled).toBe(true);
});

// ---- images

const png = (size = 2, name = "a.png") =>
  new File([new Uint8Array(size).fill(65)], name, { type: "image/png" });

test("an image is pasted, seen, taken away, and sent", async () => {
  const { el, field, find, key, sent } = composer();
  const paste = async (count: number) => {
    const event = new Event("paste", { bubbles: true, cancelable: true });
    Object.assign(event, { clipboardData: { files: [png()] } });
    field.dispatchEvent(event);
    await vi.waitFor(() => expect(el.querySelectorAll(".acp-thumbs img").length).toBe(count));
  };
  await paste(1);
  await paste(2);
  find("[aria-label='Remove image 1']")?.click();
  await settled();
  await key("Enter");
  expect(sent()).toEqual([
    { t: "prompt", text: "", images: [{ data: "QUE=", mime_type: "image/png" }] },
  ]);
  expect(find(".acp-thumbs")).toBeNull();
});

test("what is no image, too large or too much is refused with a reason", async () => {
  const svg = new File(["<svg/>"], "x.svg", { type: "image/svg+xml" });
  const large = png(Math.ceil((MOST_CHARS * 3) / 4) + 10, "large.png");
  const { images, refused } = await withFiles([], [svg, large, png()]);
  expect(images).toEqual([{ data: "QUE=", mime_type: "image/png" }]);
  expect(refused[0]).toMatch(/^x\.svg: only PNG/);
  expect(refused[1]).toMatch(/^large\.png: too large/);
  const full = Array.from({ length: MOST_IMAGES }, () => ({ data: "", mime_type: "image/png" }));
  expect((await withFiles(full, [png()])).refused.length).toBe(1);
});
