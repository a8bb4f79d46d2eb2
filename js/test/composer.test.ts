import { beforeEach, expect, test } from "vitest";
import type { Command, CompleteIntent } from "../src/types";
import { matching } from "../src/view/completion";
import { atEdge, History } from "../src/view/history";
import { mentionAt, mentioned } from "../src/view/mentions";
import { MOST_CHARS, MOST_IMAGES, withFiles } from "../src/view/images";
import { now, queuedPrompt, soon, turn } from "./helpers";
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

test("Enter sends and clears the field; Shift+Enter does not; an empty prompt is not sent", async () => {
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

test("Up and Down bring back earlier prompts and the draft", async () => {
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

test("matching commands, those with a matching start first", () => {
  const names = (text: string, caret = text.length) =>
    matching(text, caret, COMMANDS).map(({ name }) => name.slice(1));
  expect(names("/")).toEqual(["tour", "stream", "restore"]);
  expect(names("/ST")).toEqual(["stream", "restore"]);
  expect(names("/tour x")).toEqual([]);
  expect(names("a /t")).toEqual([]);
  expect(names("/tour", 2)).toEqual([]);
});

test("a command is chosen by keyboard, and sent when it is complete", async () => {
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

test("Escape closes only the list; the mouse chooses a command", async () => {
  const { el, field, find, write, key } = composer();
  await write("/t");
  expect(find("[role=listbox]")?.style.maxHeight).toMatch(/^\d+px$/);
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
  store.receive(now([queuedPrompt("t2", "Then this")], 3));
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

test("without its kernel, or when the session is closed, nothing can be written", () => {
  const { store, frames, field } = composer();
  store.setLink("gone");
  frames.draw();
  expect([field.disabled, field.placeholder]).toEqual([true, "Run this cell to reconnect"]);
  expect(composer([DONE], { status: "closed" }).field.disabled).toBe(true);
});

// ---- images

const png = (size = 2, name = "a.png") =>
  new File([new Uint8Array(size).fill(65)], name, { type: "image/png" });

test("an image is pasted, shown, removed, and sent", async () => {
  const { el, field, find, key, sent } = composer();
  const paste = async (count: number) => {
    const event = new Event("paste", { bubbles: true, cancelable: true });
    Object.assign(event, { clipboardData: { files: [png()] } });
    field.dispatchEvent(event);
    await soon(() => expect(el.querySelectorAll(".acp-thumbs img").length).toBe(count));
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

test("files that are not images, too large or too many are refused with a reason", async () => {
  const svg = new File(["<svg/>"], "x.svg", { type: "image/svg+xml" });
  const large = png(Math.ceil((MOST_CHARS * 3) / 4) + 10, "large.png");
  const { images, refused } = await withFiles([], [svg, large, png()]);
  expect(images).toEqual([{ data: "QUE=", mime_type: "image/png" }]);
  expect(refused[0]).toMatch(/^x\.svg: only PNG/);
  expect(refused[1]).toMatch(/^large\.png: too large/);
  const full = Array.from({ length: MOST_IMAGES }, () => ({ data: "", mime_type: "image/png" }));
  expect((await withFiles(full, [png()])).refused.length).toBe(1);
});

// ---- @-names

test("an @-name is recognised as in the kernel", () => {
  const at = (text: string, caret = text.length) => mentionAt(text, caret);
  expect(at("@")).toBe("@");
  expect(at("see (@df.col")).toBe("@df.col");
  expect(at('see @"my fi')).toBe('@"my fi');
  expect(at("@cell:3")).toBe("@cell:3");
  expect(at("@df ")).toBeNull();
  expect(at("me@example.org")).toBeNull();
  expect(at("@df", 2)).toBeNull();
  expect(at(`@${"x".repeat(600)}`)).toBeNull();
  expect(mentioned("see @d now", 6, "@d", "@df")).toEqual({ text: "see @df now", caret: 7 });
  expect(mentioned("@s", 2, "@s", "@src/")).toEqual({ text: "@src/", caret: 5 });
});

function asking() {
  const made = composer();
  const asked = () => made.sent().filter((it): it is CompleteIntent => it.t === "complete");
  const answer = async (...names: string[]) => {
    const { rid, fragment } = asked().at(-1)!;
    const offered = names.map((text) => ({ text, about: "int" }));
    made.store.receive({ t: "offered", view: "v", rid, fragment, offered });
    made.frames.draw();
    await settled();
  };
  const names = () =>
    [...made.el.querySelectorAll("[role=option] .acp-command-name")].map((it) => it.textContent);
  return { ...made, asked, answer, names };
}

/** Effects run after a frame, or some timers later; there is no frame here. After a long pause all timers are
    due at once, in the order in which they were set: so more than one. */
async function afterEffects(): Promise<void> {
  for (let timer = 0; timer < 3; timer++) await new Promise((done) => setTimeout(done, 50));
}

test("an @-name is completed by the kernel, by keyboard", async () => {
  const { field, write, key, asked, answer, names, sent } = asking();
  await write("look at @d");
  await afterEffects();
  expect(asked().map(({ fragment }) => fragment)).toEqual(["@d"]);
  expect(names()).toEqual([]);
  await answer("@df", "@dog");
  expect(names()).toEqual(["@df", "@dog"]);
  await key("ArrowDown");
  await key("Tab");
  expect(field.value).toBe("look at @dog ");
  expect(names()).toEqual([]);
  await key("Enter");
  expect(sent().at(-1)).toEqual({ t: "prompt", text: "look at @dog " });
});

test("one request at a time; text written in between is requested after the answer", async () => {
  const { write, asked, answer, names } = asking();
  for (const text of ["@", "@d", "@do"]) await write(text);
  await afterEffects();
  expect(asked().map(({ fragment }) => fragment)).toEqual(["@"]);
  await answer("@cat", "@dog", "@dome");
  expect(names()).toEqual(["@dog", "@dome"]);
  await afterEffects();
  expect(asked().map(({ fragment }) => fragment)).toEqual(["@", "@do"]);
});

test("a folder is completed and opened; Enter sends a complete name; Escape closes", async () => {
  const { field, write, key, asked, answer, names, sent } = asking();
  await write("@s");
  await afterEffects();
  await answer("@src/");
  await key("Enter");
  expect(field.value).toBe("@src/");
  await afterEffects();
  expect(asked().at(-1)?.fragment).toBe("@src/");
  await answer("@src/a.py");
  await key("Escape");
  expect(names()).toEqual([]);
  await write("@df");
  await afterEffects();
  await answer("@df", "@df2");
  await key("Enter");
  expect(sent().at(-1)).toEqual({ t: "prompt", text: "@df" });
});

test("an answer for another field shows nothing here", async () => {
  const { write, store, frames, names } = asking();
  await write("@d");
  await afterEffects();
  store.receive({ t: "offered", view: "v", rid: "?", fragment: "@d", offered: [] });
  frames.draw();
  await settled();
  expect(names()).toEqual([]);
});

test("a refused prompt comes back into its field, before the text there", async () => {
  const { field, find, write, key, store, frames } = composer();
  await write("why @nothing?");
  await key("Enter");
  await write("and");
  store.receive({ t: "refused", what: "no such variable", prompt: "why @nothing?" });
  frames.draw();
  await afterEffects();
  expect(field.value).toBe("why @nothing?\nand");
  expect(find("[role=alert]")?.textContent).toContain("no such variable");
  store.receive({ t: "refused", what: "no such variable", prompt: "of another page" });
  frames.draw();
  await afterEffects();
  expect(field.value).toBe("why @nothing?\nand");
});
