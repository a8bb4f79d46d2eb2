import { beforeEach, expect, test } from "vitest";
import type { Content, Item, RunContent, TerminalItem, ToolItem } from "../src/types";
import { FIRST_ROWS } from "../src/view/diff";
import { message, question, soon, turn } from "./helpers";
import { settled, shown, tool, wired } from "./mounted";

beforeEach(() => document.body.replaceChildren());

function terminal(fields: Partial<TerminalItem> = {}): TerminalItem {
  return {
    key: "kt",
    type: "terminal",
    turn: "k1",
    id: "x1",
    command: "make",
    status: "running",
    output: "one\n",
    ...fields,
  };
}

test.each([
  "pending",
  "in_progress",
  "completed",
  "failed",
  "rejected",
  "cancelled",
  "allowed",
  "unfinished",
  "odd_one",
])("a call that is %s says so", (status) => {
  const { find } = shown([turn(), tool({ status })]);
  const state = find(".acp-state");
  expect(state?.dataset["status"]).toBe(status);
  expect(state?.textContent).toContain(status.replace("_", " "));
  expect(find(".acp-spinner") !== null).toBe(status === "in_progress");
});

test.each(["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode"])(
  "the kind %s has its own icon",
  (kind) => {
    const { find } = shown([turn(), tool({ kind })]);
    expect(find(".acp-kind path")).not.toBeNull();
    expect(find(".acp-kind")?.textContent).toContain(kind.replace("_", " "));
  },
);

test("any other kind has a plain icon", () => {
  for (const kind of ["other", "constructor", "toString"])
    expect(shown([turn(), tool({ kind })]).find(".acp-kind circle")).not.toBeNull();
});

test("an unprompted call says so", () => {
  const { find } = shown([turn(), tool({ unprompted: true })]);
  expect(find("[data-status='unprompted']")?.textContent).toBe("unprompted");
});

const RUN: RunContent = {
  type: "run",
  run_id: "run-1",
  code: "1 + 1",
  status: "ok",
  seconds: 1,
  outputs: [],
  cells: [],
  notes: [],
};

test("what the user was asked about is not unprompted, whether the agent or the client asked", () => {
  const call = tool({ unprompted: true });
  const by = (by: string) =>
    shown([turn(), call, question({ tool: "k5", status: "answered", by })]).find(
      "[data-status='unprompted']",
    );
  expect(by("user")).toBeNull();
  expect(by("policy")).not.toBeNull();
});

test("while it is asked about, code has its purpose for a title, and no raw input next to it", () => {
  const action = { type: "run_code", code: "1 + 1", purpose: "Add" };
  const mcp = { type: "mcp", server: "kernel", tool: "run_code", sure: true };
  const call = tool({ title: "mcp__kernel__run_code", raw_input: { code: "1 + 1" } });
  const asked = question({ tool: "k5", status: "open", actions: [mcp, action] });
  const { el, find } = shown([turn(), call, asked]);
  expect(find(".acp-title")?.textContent).toBe("Add");
  expect(find(".acp-asks")?.textContent).toContain("Allow this?");
  expect(el.querySelectorAll("[data-acp-action]")).toHaveLength(1);
  expect(find(".acp-raw")).toBeNull();
});

test("code that did not run is not completed", () => {
  const state = (status: string) =>
    shown([turn(), tool({ status: "completed", content: [{ ...RUN, status }] })]).find(".acp-state")
      ?.dataset["status"];
  expect(state("busy")).toBe("not_run");
  document.body.replaceChildren();
  expect(state("waiting")).toBe("not_run");
  document.body.replaceChildren();
  expect(state("ok")).toBe("completed");
});

test("raw input and output are created on demand", () => {
  const made = shown([turn(), tool({ raw_input: { a: 1 }, raw_output: "out" })]);
  expect(made.find(".acp-raw pre")).toBeNull();
  made.store.local({ t: "fold", key: "k5:raw", open: true });
  made.frames.draw();
  expect(made.find(".acp-raw")?.textContent).toContain('"a": 1');
  expect(made.find(".acp-raw")?.textContent).toContain('"out"');
});

test("a terminal is shown in its call, and grows there; else on its own", async () => {
  const call = tool({ kind: "execute", content: [{ type: "terminal", terminal_id: "x1" }] });
  const { el, find, patch } = shown([turn(), call, terminal()]);
  expect(el.querySelectorAll(".acp-terminal").length).toBe(1);
  expect(find(".acp-tool .acp-terminal")?.textContent).toContain("$ make");
  patch(
    ["append", "kt", ["output"], "two\n"],
    ["set", "kt", ["status"], "exited"],
    ["set", "kt", ["exit_code"], 2],
  );
  await settled();
  expect(find(".acp-terminal")?.textContent).toContain("two");
  expect(find(".acp-terminal-end")?.textContent).toBe("exit code 2");
  const alone = shown([turn(), terminal({ status: "killed", signal: "SIGKILL", dropped: 9 })]);
  expect(alone.find(".acp-items > * > .acp-terminal")?.textContent).toContain("ended by SIGKILL");
  expect(alone.find(".acp-terminal-note")?.textContent).toContain("9 earlier");
});

test("a terminal that is first shown by a later call moves there", () => {
  const { find, patch } = shown([turn(), tool(), terminal()]);
  expect(find(".acp-items > * > .acp-terminal")).not.toBeNull();
  patch(["set", "k5", ["content"], [{ type: "terminal", terminal_id: "x1" }]]);
  expect(find(".acp-items > * > .acp-terminal")).toBeNull();
  expect(find(".acp-tool .acp-terminal")).not.toBeNull();
});

test("a run of reads is one line that opens", () => {
  const reads = Array.from({ length: 4 }, (_, at) =>
    tool({ key: `r${at}`, id: `r${at}`, title: `Read ${at}`, kind: "read", status: "completed" }),
  );
  const { el, find, store, frames } = shown([turn(), ...(reads as Item[]), message("m", "so")]);
  const group = find<HTMLDetailsElement>("[data-acp-group='4'] details");
  expect(group?.querySelector("summary")?.textContent).toContain("Read 4 files");
  expect([group?.open, el.querySelectorAll("[data-acp-tool]").length]).toEqual([false, 4]);
  store.local({ t: "fold", key: "group:r0", open: true });
  frames.draw();
  expect(group?.open).toBe(true);
});

// ---- diffs

function edit(fields: Partial<Extract<Content, { type: "diff" }>>): ToolItem {
  return tool({ content: [{ type: "diff", path: "a.py", new_text: "", ...fields }] });
}

test("new and deleted files say so", () => {
  const badge = (item: ToolItem) => shown([turn(), item]).find(".acp-diff .acp-badge")?.textContent;
  expect(badge(edit({ new_text: "a\n" }))).toBe("new file");
  expect(badge(edit({ old_text: "a\n" }))).toBe("deleted");
  expect(badge(edit({ old_text: "a\n", new_text: "b\n" }))).toBeUndefined();
});

test("line numbers are not text: only the file's text is copied", () => {
  const { el } = shown([turn(), edit({ old_text: "x = 1\n", new_text: "x = 2\n" })]);
  const rows = [...el.querySelectorAll<HTMLElement>(".acp-row")];
  expect(rows.map((row) => row.textContent)).toEqual(["-x = 1\n", "+x = 2\n"]);
  expect([...el.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual(["1", "2"]);
  expect(rows[0]?.querySelector<HTMLElement>(".acp-no")?.dataset["n"]).toBe("1");
});

test("side by side is chosen once for all diffs", async () => {
  const made = shown([
    turn(),
    edit({ old_text: "a\n", new_text: "b\n" }),
    { ...edit({ old_text: "c\n", new_text: "d\n" }), key: "k6" },
  ]);
  wired(made);
  made.find(".acp-diff .acp-wide")?.click();
  await settled();
  const layouts = [...made.el.querySelectorAll<HTMLElement>(".acp-diff")];
  expect(layouts.map(({ dataset }) => dataset["acpDiff"])).toEqual(["split", "split"]);
  expect(made.el.querySelectorAll(".acp-pair").length).toBe(2);
});

test("a big diff shows its first rows, and all on demand", async () => {
  const lines = Array.from({ length: 500 }, (_, at) => `line ${at}`).join("\n");
  const { el, find } = shown([turn(), edit({ new_text: lines })]);
  expect(el.querySelectorAll(".acp-row").length).toBe(FIRST_ROWS);
  find(".acp-diff .acp-more")?.click();
  await soon(() => expect(el.querySelectorAll(".acp-row").length).toBe(500));
});

test("a huge diff is compared and drawn in frames of its own", async () => {
  const text = (word: string) => `${word} line of the file\n`.repeat(3000);
  const { find } = shown([turn(), edit({ old_text: text("old"), new_text: text("now") })]);
  expect(find(".acp-diff")?.getAttribute("aria-busy")).toBe("true");
  await soon(() => expect(find(".acp-counts")?.textContent).toBe("+3000 −minus 3000"));
  expect(find(".acp-diff")?.getAttribute("aria-busy")).not.toBe("true");
});

test("a big diff is coloured when all of it is shown", async () => {
  const lines = Array.from({ length: 800 }, (_, at) => `value_${at} = ${at}`).join("\n");
  const { el, find } = shown([turn(), edit({ path: "/work/a.py", new_text: lines })]);
  expect(el.querySelectorAll(".acp-row .acp-hl-number").length).toBe(FIRST_ROWS);
  find(".acp-diff .acp-more")?.click();
  await soon(() => expect(el.querySelectorAll(".acp-row .acp-hl-number").length).toBe(800));
});

test("hidden characters in a diff and in its path are visible", () => {
  const { find } = shown([turn(), edit({ path: "a\u202e.py", new_text: "x\u200b = 1\n" })]);
  expect(find(".acp-diff")?.textContent).toContain("a‹U+202E›.py");
  expect(find(".acp-row")?.textContent).toContain("x‹U+200B› = 1");
});

test("while it is asked about, a function has every argument in full", () => {
  const long = JSON.stringify("x".repeat(1000));
  const action = {
    type: "call_function",
    name: "send",
    arguments: [
      ["to", '"Ada"'],
      ["text", long],
    ],
  };
  const mcp = { type: "mcp", server: "kernel", tool: "send", sure: true };
  const call = tool({ title: "mcp__kernel__send", raw_input: { to: "Ada" } });
  const asked = question({ tool: "k5", status: "open", actions: [mcp, action] });
  const { el, find } = shown([turn(), call, asked]);
  expect(find(".acp-title")?.textContent).toBe("Call send");
  expect(el.querySelectorAll("[data-acp-action]")).toHaveLength(1);
  const cells = [...el.querySelectorAll(".acp-arguments td")].map((it) => it.textContent?.trim());
  expect(cells).toEqual(['"Ada"', long]);
  expect(el.querySelector(".acp-arguments details")).toBeNull();
  expect(find(".acp-raw")).toBeNull();
});
