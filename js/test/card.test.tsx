import { beforeEach, describe, expect, it, test, vi } from "vitest";
import type { ChangesItem, FileChange, Item, TerminalItem, ToolItem } from "../src/types";
import { turn } from "./helpers";
import { press, settled, shown, tool, wired } from "./mounted";

beforeEach(() => document.body.replaceChildren());

const over = () => turn({ status: "done", stop_reason: "end_turn" });
const HEADER = { agent: { name: "a", cwd: "/w" } };

const DIFF = {
  type: "diff",
  path: "/w/sum.py",
  old_text: "a = 1\n",
  new_text: "a = 2\n",
} as const;

function edit(fields: Partial<ToolItem> = {}): ToolItem {
  const locations = [{ path: "/w/sum.py", line: 1 }];
  return tool({ status: "completed", content: [DIFF], locations, ...fields });
}

function change(fields: Partial<FileChange> = {}): FileChange {
  const lines = ["-a = 1", "+a = 2"];
  const starts = { old_start: 1, old_count: 1, new_start: 1, new_count: 1 };
  return {
    id: "f1",
    path: "/w/sum.py",
    action: "modified",
    added: 1,
    removed: 1,
    hunks: [{ id: "h1", ...starts, lines, undone: false }],
    state: "applied",
    undoable: true,
    via: "client",
    tool: "k5",
    allowed_by: "user",
    ...fields,
  };
}

function changes(files: FileChange[], more: Partial<ChangesItem> = {}): ChangesItem {
  return { key: "k9", type: "changes", turn: "k1", files, notes: [], ...more };
}

function drawn(...items: Item[]) {
  const made = shown(items, "t1", HEADER);
  wired(made);
  return made;
}

const times = (text: string, what: string) => text.split(what).length - 1;

describe("an edit", () => {
  it("is one card: the path once, the change, and what can be done with it", () => {
    const { find, el, emit } = drawn(over(), edit(), changes([change()]));
    expect(find(".acp-changes")).toBeNull();
    const card = find(".acp-tool");
    expect(times(card?.textContent ?? "", "sum.py")).toBe(1);
    expect(times(card?.textContent ?? "", "+1 −minus 1")).toBe(1);
    expect(times(card?.textContent ?? "", "allowed by you")).toBe(1);
    expect(el.querySelectorAll(".acp-row").length).toBe(2);
    find("[data-acp-file=f1] [data-acp-operation=undo]")?.click();
    expect(emit).toHaveBeenCalledWith({ t: "undo", turn: "k1", file: "f1" });
  });

  it("has the agent's diff and no buttons while the turn runs", () => {
    const { find, patch } = drawn(turn(), edit(), changes([change()]));
    expect(find(".acp-diff")).not.toBeNull();
    expect(find("[data-acp-file]")).toBeNull();
    expect(find(".acp-changes")).toBeNull();
    patch(["set", "k1", ["status"], "done"]);
    expect(find(".acp-tool [data-acp-file]")).not.toBeNull();
  });

  it("says who allowed it once, with the question", () => {
    const question = {
      key: "k6",
      type: "question",
      id: "q1",
      turn: "k1",
      tool: "k5",
      status: "answered",
      by: "user",
      answer: "yes",
      options: [{ id: "yes", name: "Allow", kind: "allow_once" }],
      offers: [],
    } as const;
    const { find } = drawn(over(), edit(), question, changes([change()]));
    const text = find(".acp-tool")?.textContent?.toLowerCase() ?? "";
    expect(times(text, "allowed")).toBe(1);
    expect(find(".acp-settled")?.textContent).toBe("Allowed once by you");
  });

  it("shows its hunks, each with its buttons, its state and its conflict", () => {
    const [hunk] = change().hunks;
    const hunks = ["h1", "h2"].map((id) => ({ ...hunk!, id }));
    const why = "somebody else changed it";
    const { el, find } = drawn(
      over(),
      edit(),
      changes([change({ hunks, state: "conflict", why })]),
    );
    expect(el.querySelectorAll("[data-acp-hunk] [data-acp-operation=undo]").length).toBe(2);
    expect(find("[data-acp-file] .acp-badge")?.textContent).toBe("conflict");
    expect(find(".acp-changed-why")?.textContent).toContain("Somebody else changed it.");
  });

  it("keeps the agent's diff where the change has no lines to show", () => {
    const { find } = drawn(over(), edit(), changes([change({ hunks: [], note: "too big" })]));
    expect(find("[data-acp-diff]:not([data-acp-file])")).not.toBeNull();
    expect(find("[data-acp-file] [data-acp-operation=undo]")).not.toBeNull();
  });

  it("of several is also in the summary", () => {
    const other = edit({ key: "k6", id: "c2", content: [], locations: [{ path: "/w/b.py" }] });
    const files = [change(), change({ id: "f2", path: "/w/b.py", tool: "k6" })];
    const { el, find } = drawn(over(), edit(), other, changes(files));
    expect(find(".acp-changes-head")?.textContent).toContain("2 files changed");
    expect(el.querySelectorAll(".acp-tool [data-acp-file]").length).toBe(2);
    expect(el.querySelectorAll(".acp-changes [data-acp-file]").length).toBe(2);
  });

  it("of a file that several calls changed is left to the summary", () => {
    const { find } = drawn(over(), edit(), edit({ key: "k6", id: "c2" }), changes([change()]));
    expect(find(".acp-tool [data-acp-file]")).toBeNull();
    expect(find(".acp-changes [data-acp-file]")).not.toBeNull();
  });

  it("that no card shows is in the summary", () => {
    const { find } = drawn(over(), changes([change({ tool: "k99" })]));
    expect(find(".acp-changes-head")?.textContent).toContain("1 file changed");
  });

  it("keeps the notes and what else changed", () => {
    const notes = drawn(over(), edit(), changes([change()], { notes: ["data/ is ignored"] }));
    expect(notes.find(".acp-changes")?.textContent).toBe("data/ is ignored");
    const also = [{ files: [change({ id: "f2", via: "command" })], command: "make" }];
    const more = drawn(over(), edit(), changes([change()], { also }));
    expect(more.find(".acp-changes-head")?.textContent).toBe("Changed during this turn");
    expect(more.find(".acp-changes [data-acp-file=f1]")).toBeNull();
  });
});

describe("the menu", () => {
  const raw = () => edit({ raw_input: { path: "x" }, content: [] });

  it("shows raw input and output, and copies the path", async () => {
    const writeText = vi.fn(() => Promise.resolve());
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    const { find, el } = drawn(over(), raw());
    expect(find(".acp-raw")).toBeNull();
    find(".acp-menu-button")?.click();
    await settled();
    const names = [...el.querySelectorAll(".acp-menu-entries button")];
    expect(names.map(({ textContent }) => textContent)).toEqual([
      "Raw input and output",
      "Copy path",
    ]);
    (names[1] as HTMLElement).click();
    await settled();
    expect(writeText).toHaveBeenCalledWith("/w/sum.py");
    find(".acp-menu-button")?.click();
    await settled();
    find(".acp-menu-entries button")?.click();
    await settled();
    expect(find(".acp-raw")?.textContent).toContain('"path": "x"');
    expect(find(".acp-menu-entries")).toBeNull();
    vi.unstubAllGlobals();
  });

  it("closes with Escape, which goes no further, and gives the focus back", async () => {
    const { find } = drawn(over(), raw());
    const button = find(".acp-menu-button");
    button?.click();
    await settled();
    const heard = vi.fn();
    document.body.addEventListener("keydown", heard);
    press(find(".acp-menu-entries button"), "Escape");
    await settled();
    document.body.removeEventListener("keydown", heard);
    expect(heard).not.toHaveBeenCalled();
    expect(find(".acp-menu-entries")).toBeNull();
    expect(document.activeElement).toBe(button);
  });
});

describe("a command", () => {
  const terminal = (command: string): TerminalItem => ({
    key: "k7",
    type: "terminal",
    turn: "k1",
    id: "x1",
    command,
    output: "done\n",
    status: "exited",
    exit_code: 0,
  });
  const ran = (title: string, command?: string) =>
    tool({
      kind: "execute",
      title,
      status: "completed",
      locations: [],
      content: [{ type: "terminal", terminal_id: "x1" }],
      ...(command === undefined ? {} : { command, raw_input: { command } }),
    });

  it.each([
    ["as the title", "`echo it's`", undefined, "echo it's"],
    ["by a shell", "echo it's", undefined, `/bin/sh -c 'echo it'"'"'s'`],
    ["below a title in words", "Say so", "echo it's", "echo it's"],
    ["below a title in words, by a shell", "Say so", "echo it's", `bash -c 'echo it'"'"'s'`],
  ])("appears once: %s", (_, title, command, run) => {
    const { find } = drawn(over(), ran(title, command), terminal(run));
    expect(times(find(".acp-tool")?.textContent ?? "", "echo")).toBe(1);
    expect(find(".acp-tool")?.textContent).toContain("echo it's");
  });

  it("that is another one than the card says is shown", () => {
    const { find } = drawn(over(), ran("echo 1"), terminal("rm -r ."));
    expect(find(".acp-terminal-command")?.textContent).toBe("$ rm -r .");
  });

  it("is literal in the menu", async () => {
    const { find } = drawn(over(), ran("ls"), terminal("/bin/sh -c ls"));
    find(".acp-menu-button")?.click();
    await settled();
    find(".acp-menu-entries button")?.click();
    await settled();
    expect(find(".acp-raw")?.textContent).toContain("/bin/sh -c ls");
  });
});

test("code that runs is not pending, even if the agent reports nothing", () => {
  const run = {
    type: "run",
    run_id: "r1",
    code: "1",
    cells: [],
    outputs: [],
    notes: [],
    seconds: 1,
    status: "running",
  } as const;
  const { find } = drawn(turn(), tool({ kind: "execute", content: [run] }));
  expect(find(".acp-state")?.dataset["status"]).toBe("in_progress");
});

test("an image is small until it is enlarged", async () => {
  const image = { type: "image", data: "aGk=", mime_type: "image/png" } as const;
  const { find } = drawn(over(), tool({ content: [image] }));
  const button = find(".acp-thumbnail");
  expect(button?.getAttribute("aria-pressed")).toBe("false");
  button?.click();
  await settled();
  expect(button?.getAttribute("aria-pressed")).toBe("true");
});
