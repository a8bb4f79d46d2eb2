import { beforeEach, describe, expect, it, test } from "vitest";
import type { AlsoChanged, ChangesItem, FileChange, Hunk, Item } from "../src/types";
import { operationsOf, operationsOfAll, summaryOf, sumOf, whoOf } from "../src/view/change_summary";
import { cellOf } from "../src/view/changed_file";
import { FIRST_FILES } from "../src/view/changes";
import { hunkRows } from "../src/view/diff_rows";
import { soon, turn } from "./helpers";
import { press, settled, shown, wired } from "./mounted";

beforeEach(() => document.body.replaceChildren());

function hunk(id: string, fields: Partial<Hunk> = {}): Hunk {
  const at = Number(id.slice(1)) * 10;
  const starts = { old_start: at, old_count: 2, new_start: at, new_count: 2 };
  return { id, ...starts, lines: [" same", "-old", "+new"], undone: false, ...fields };
}

function file(id: string, fields: Partial<FileChange> = {}): FileChange {
  return {
    id,
    path: `/w/${id}.py`,
    action: "modified",
    added: 1,
    removed: 1,
    hunks: [hunk("h1"), hunk("h2")],
    state: "applied",
    undoable: true,
    via: "client",
    allowed_by: "user",
    ...fields,
  };
}

function changes(files: FileChange[], fields: Partial<ChangesItem> = {}): ChangesItem {
  return { key: "k9", type: "changes", turn: "k1", files, notes: [], ...fields };
}

const over = (more = {}) => turn({ status: "done", stop_reason: "end_turn", ...more });

function drawn(files: FileChange[], more: Partial<ChangesItem> = {}, first = over()) {
  const made = shown([first, changes(files, more)], "t1", { agent: { name: "a", cwd: "/w" } });
  wired(made);
  const operation = (query: string) => made.find<HTMLButtonElement>(query);
  const operations = (within = "") =>
    [...made.el.querySelectorAll<HTMLElement>(`${within} [data-acp-operation]`)].map(
      ({ textContent }) => textContent,
    );
  return { ...made, operation, operations };
}

describe("the card of a turn", () => {
  it("is at the turn's end and sums it up in one line", () => {
    const { find, el, operations } = drawn([file("a"), file("b", { added: 11, removed: 3 })]);
    const head = find(".acp-changes-head");
    expect(head?.textContent).toContain("2 files changed+12 −minus 4");
    expect(find(".acp-items")?.nextElementSibling?.className).toBe("acp-changes");
    expect(operations(".acp-changes-head")).toEqual(["Keep all", "Undo all"]);
    expect(el.querySelectorAll("[data-acp-file]").length).toBe(2);
    expect(find("[data-acp-file=a] .acp-path")?.textContent).toBe("a.py");
    expect(find("[data-acp-file=a]")?.textContent).toContain("allowed by you");
    expect(el.querySelector("[data-acp-hunk]")).toBeNull();
  });

  it("shows only the sum while the turn runs", () => {
    const { find, patch } = drawn([file("a"), file("b")], {}, turn());
    expect(find(".acp-changes-head")?.textContent).toContain("2 files changed+2");
    expect(find("[data-acp-operation]")).toBeNull();
    expect(find("[data-acp-file]")).toBeNull();
    patch(["set", "k1", ["status"], "done"]);
    expect(find("[data-acp-file]")).not.toBeNull();
  });

  it("opens a file to its hunks", () => {
    const { find, el, operations } = drawn([file("a")]);
    const expand = find(".acp-expand");
    expect(expand?.getAttribute("aria-expanded")).toBe("false");
    expand?.click();
    expect(expand?.getAttribute("aria-expanded")).toBe("true");
    expect(el.querySelectorAll("[data-acp-hunk]").length).toBe(2);
    expect(find("[data-acp-hunk=h1] .acp-diff-head")?.textContent).toContain("Lines 10 to 11");
    expect(operations("[data-acp-hunk=h1]")).toEqual(["Keep", "Undo"]);
    const rows = [...el.querySelectorAll("[data-acp-hunk=h2] .acp-row")];
    expect(rows.map(({ textContent }) => textContent)).toEqual([" same\n", "-old\n", "+new\n"]);
  });

  it("has no buttons for a hunk that is the whole change", () => {
    const { find, operations } = drawn([file("a", { hunks: [hunk("h1")] })]);
    find(".acp-expand")?.click();
    expect(operations("[data-acp-hunk=h1]")).toEqual([]);
    expect(operations(".acp-changes-head")).toEqual([]); // one file: its own buttons do
  });

  it("keeps a hunk, which can still be undone", () => {
    const hunks = [hunk("h1", { kept: true }), hunk("h2", { undone: true })];
    const { find, operations } = drawn([file("a", { hunks, state: "partly" })]);
    find(".acp-expand")?.click();
    expect(find("[data-acp-hunk=h1] .acp-badge")?.textContent).toBe("kept");
    expect(operations("[data-acp-hunk=h1]")).toEqual(["Undo"]);
    expect(operations("[data-acp-hunk=h2]")).toEqual(["Redo"]);
  });

  it("names the cells of a notebook; moved cells go back together", () => {
    const cell = (id: string, title: string) => hunk(id, { title });
    const hunks = [cell("h1", "cell 1, code: modified"), cell("h2", "cell 4, code: added")];
    const { find, operations } = drawn([file("n", { path: "/w/n.ipynb", notebook: true, hunks })]);
    find(".acp-expand")?.click();
    expect(find("[data-acp-hunk=h2] .acp-diff-head")?.textContent).toContain("cell 4, code: added");
    expect(operations("[data-acp-hunk=h2]")).toEqual(["Keep", "Undo"]);
    expect(cellOf(hunks[1] as Hunk)).toEqual(["#3"]);
    const moved = [...hunks, cell("h3", "cell 2, code: moved")];
    const other = drawn([file("m", { notebook: true, hunks: moved })]);
    other.find(".acp-expand")?.click();
    expect(other.operations("[data-acp-hunk=h2]")).toEqual([]);
  });

  it("notes what is not covered", () => {
    const { find } = drawn([file("a")], { notes: ["data/ is ignored\nby git", "x\u202ey"] });
    expect(find(".acp-changes-notes")?.textContent).toBe("data/ is ignored ⏎ by gitx‹U+202E›y");
  });
});

describe("a request", () => {
  it("names the turn, the file and the hunk", () => {
    const { find, emit } = drawn([file("a"), file("b")]);
    find("[data-acp-file=a] .acp-expand")?.click();
    emit.mockClear();
    emit.mockImplementation(() => undefined);
    find("[data-acp-hunk=h2] [data-acp-operation=undo]")?.click();
    find("[data-acp-file=b] [data-acp-operation=keep]")?.click();
    find(".acp-changes-head [data-acp-operation=undo]")?.click();
    expect(emit.mock.calls.map(([intent]) => intent)).toEqual([
      { t: "undo", turn: "k1", file: "a", hunk: "h2" },
      { t: "keep", turn: "k1", file: "b" },
      { t: "undo", turn: "k1" },
    ]);
  });

  it("shows as sent, is not sent twice, and ends when the kernel says so", async () => {
    const made = drawn([file("a"), file("b")]);
    const undo = made.operation("[data-acp-file=a] [data-acp-operation=undo]");
    undo?.focus();
    undo?.click();
    await settled();
    expect(undo?.textContent).toBe("Undoing…");
    expect(undo?.getAttribute("aria-disabled")).toBe("true");
    undo?.click();
    made.operation("[data-acp-file=b] [data-acp-operation=undo]")?.click();
    expect(made.emit).toHaveBeenCalledTimes(1);
    made.patch(["set", "k9", ["files", 0], { ...file("a"), state: "undone" } as never]);
    const intent = { t: "undo", turn: "k1", file: "a", hunk: null } as never;
    made.store.receive({ t: "done", intent });
    made.frames.draw();
    await settled();
    const redo = made.operation("[data-acp-file=a] [data-acp-operation=redo]");
    expect(redo?.textContent).toBe("Redo");
    expect(document.activeElement).toBe(redo); // the same button, and still the keyboard's
    redo?.click();
    expect(made.emit).toHaveBeenLastCalledWith({ t: "redo", turn: "k1", file: "a" });
  });

  it(`shows the kernel's progress instead of "busy"`, async () => {
    const made = drawn([file("a"), file("b")]);
    made.operation(".acp-changes-head [data-acp-operation=undo]")?.click();
    const intent = { t: "undo", turn: "k1", file: null, hunk: null } as never;
    const shows = async (at: number, of: number) => {
      made.store.receive({ t: "doing", intent, at, of });
      made.frames.draw();
      await settled();
      made.clock.pass(3000);
      made.frames.draw();
      await settled();
      return made.find(".acp-changes [role=status]")?.textContent;
    };
    expect(await shows(0, 0)).toBeUndefined();
    expect(await shows(1200, 10000)).toBe("Undoing… 1,200 of 10,000 files");
    made.store.receive({ t: "done", intent });
    made.frames.draw();
    await settled();
    expect(made.find(".acp-changes [role=status]")).toBeNull();
  });

  it("is not undone by the second click of a double click", () => {
    const { operation, emit } = drawn([file("a")]);
    const undo = operation("[data-acp-operation=undo]");
    undo?.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2 }));
    expect(emit).not.toHaveBeenCalled();
    undo?.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
    expect(emit).toHaveBeenCalledTimes(1);
  });

  it("says that the kernel is busy, and comes back when it is refused", async () => {
    const made = drawn([file("a"), file("b")]);
    made.operation(".acp-changes-head [data-acp-operation=undo]")?.click();
    made.clock.pass(2000);
    made.frames.draw();
    await settled();
    expect(made.find(".acp-changes")?.textContent).toContain(
      "Kernel busy: your undo will be delivered",
    );
    made.store.receive({ t: "refused", what: "a turn is running" });
    made.frames.draw();
    await settled();
    expect(made.operation(".acp-changes-head [data-acp-operation=undo]")?.textContent).toBe(
      "Undo all",
    );
  });

  it("is given up if no answer ever comes", async () => {
    const made = drawn([file("a")]);
    made.operation("[data-acp-operation=undo]")?.click();
    made.clock.pass(60_000);
    made.frames.draw();
    await settled();
    expect(made.operation("[data-acp-operation=undo]")?.getAttribute("aria-disabled")).toBe(
      "false",
    );
  });

  test.each([
    ["gone", "This session's kernel is gone"],
    ["offline", "Not connected to the kernel"],
  ] as const)("is disabled with a connection that is %s", async (link, why) => {
    const { operation, store, frames, emit } = drawn([file("a")]);
    store.setLink(link);
    frames.draw();
    await settled();
    const undo = operation("[data-acp-operation=undo]");
    expect(undo?.title).toBe(why);
    undo?.click();
    expect(emit).not.toHaveBeenCalled();
  });

  it("waits for a running turn, but can be kept", () => {
    const second = turn({ key: "k20", turn: "k20", id: "t2", number: 2 });
    const made = shown([over(), changes([file("a")]), second], "t1");
    expect(made.find("[data-acp-operation=undo]")?.title).toContain(
      "Wait until the turn has ended",
    );
    made.find("[data-acp-operation=undo]")?.click();
    made.find("[data-acp-operation=keep]")?.click();
    expect(made.emit.mock.calls).toEqual([[{ t: "keep", turn: "k1", file: "a" }]]);
  });
});

describe("the state of a file", () => {
  test.each([
    ["applied", {}, ["keep", "undo"]],
    ["kept", {}, ["undo"]],
    ["undone", {}, ["redo"]],
    ["partly", {}, ["keep", "undo", "redo"]],
    ["conflict", {}, ["keep", "undo"]],
    ["conflict", { hunks: [hunk("h1", { undone: true })] }, ["keep", "redo"]],
    ["conflict", { hunks: [] }, ["keep", "undo", "redo"]],
    ["applied", { undoable: false }, ["keep"]],
    ["kept", { undoable: false }, []],
    ["something new", {}, ["keep", "undo"]],
  ])("%s %o", (state, more, operations) => {
    expect(operationsOf(file("a", { state, ...more }))).toEqual(operations);
  });

  it("of several, in a few words", () => {
    const of = (...states: string[]) => states.map((state, at) => file(`${at}`, { state }));
    expect(summaryOf(of("applied", "applied"))).toBe("");
    expect(summaryOf(of("undone", "undone"))).toBe("all undone");
    expect(summaryOf(of("kept", "conflict", "undone", "undone"))).toBe(
      "1 in conflict, 2 undone, 1 kept",
    );
    expect(summaryOf([file("a"), file("b", { undoable: false })])).toBe("1 not undoable");
    expect(operationsOfAll(of("undone", "undone"))).toEqual(["redo"]);
    expect(operationsOfAll(of("undone", "applied"))).toEqual(["keep", "undo"]);
    expect(sumOf([file("a"), file("a"), file("b")])).toEqual({ files: 2, added: 3, removed: 3 });
  });

  it("who allowed it", () => {
    expect(whoOf(file("a"))).toBe("allowed by you");
    expect(whoOf(file("a", { allowed_by: "policy (edits are fine)" }))).toBe(
      "allowed by your rules (edits are fine)",
    );
    const { allowed_by: _, ...unasked } = file("a", { via: "agent" });
    expect(whoOf(unasked)).toBe("by the agent itself, nobody was asked");
  });

  it("a conflict says why, and what to do", () => {
    const { find } = drawn([file("a", { state: "conflict", why: "it has changed since then" })]);
    expect(find(".acp-changed-why")?.textContent).toContain(
      "It has changed since then. Look at the file",
    );
    expect(find(".acp-badge[data-status=conflict]")?.textContent).toBe("conflict");
  });

  it("what cannot be undone is marked, and says why", () => {
    const { find, operations } = drawn([
      file("a", { undoable: false, why: "it is ignored by git", hunks: [], note: "9 MB" }),
    ]);
    expect(find("[data-acp-file]")?.textContent).toContain("not undoable");
    expect(find(".acp-changed-why")?.textContent).toBe("It is ignored by git.9 MB.");
    expect(operations()).toEqual(["Keep"]);
    expect(find<HTMLButtonElement>(".acp-expand")?.disabled).toBe(true);
  });

  it("a moved file shows both names", () => {
    const { find } = drawn([file("a", { action: "moved", moved_from: "/w/b.py" })]);
    expect(find(".acp-changed-path")?.textContent).toBe("b.py → a.py");
  });
});

test("500 files: the first at once, all on demand, some in each frame", async () => {
  const files = Array.from({ length: 500 }, (_, at) => file(`f${at}`));
  const { el, find } = drawn(files);
  expect(find(".acp-changes-head")?.textContent).toContain("500 files changed");
  const count = () => el.querySelectorAll("[data-acp-file]").length;
  expect(count()).toBe(FIRST_FILES);
  find(".acp-changes > .acp-more")?.click();
  await settled();
  expect(count()).toBeLessThan(100);
  await soon(() => expect(count()).toBe(500));
  expect(find(".acp-changes > .acp-more")?.textContent).toContain("Show the first");
});

describe("the whole session", () => {
  const two: Item[] = [
    over(),
    changes([file("a"), file("b")]),
    over({ key: "k20", turn: "k20", id: "t2", number: 2 }),
    changes([file("a")], { key: "k21", turn: "k20" }),
  ];

  function session(items: Item[] = two) {
    const made = shown(items, null);
    wired(made);
    return { ...made, bar: () => made.find("[data-acp-session-changes]") };
  }

  it("is summed up above the field", () => {
    expect(session().bar()?.textContent).toContain("2 files changed in 2 turns+3 −minus 3");
  });

  it("is kept by one click", () => {
    const { bar, emit } = session();
    bar()?.querySelector<HTMLElement>("[data-acp-operation=keep]")?.click();
    expect(emit).toHaveBeenCalledWith({ t: "keep" });
  });

  it("is undone only after a confirmation", async () => {
    const { bar, emit } = session();
    const undo = () => bar()?.querySelector<HTMLElement>("[data-acp-operation=undo]");
    undo()?.click();
    await settled();
    expect(bar()?.textContent).toContain("Undo everything in 2 files?");
    expect(emit).not.toHaveBeenCalled();
    press(undo() ?? null, "Escape");
    await settled();
    expect(bar()?.textContent).not.toContain("Undo everything");
    undo()?.click();
    await settled();
    undo()?.click();
    expect(emit.mock.calls).toEqual([[{ t: "undo" }]]);
    await settled();
    expect(bar()?.textContent).not.toContain("Undo everything");
  });

  it("shows nothing without changes, and nothing that one turn shows already", () => {
    expect(session([over()]).bar()).toBeNull();
    expect(session([over(), changes([file("a"), file("b")])]).bar()).toBeNull();
    const kept = changes([file("a", { state: "kept" })]);
    expect(session([over(), kept, ...two.slice(2)]).bar()).toBeNull();
  });

  it("offers to redo when everything is undone", () => {
    const undone = (item: Item): Item =>
      item.type === "changes"
        ? { ...item, files: item.files.map((it) => ({ ...it, state: "undone" })) }
        : item;
    const { bar } = session(two.map(undone));
    const [redo, ...rest] = bar()?.querySelectorAll("[data-acp-operation]") ?? [];
    expect(redo?.textContent).toBe("Redo all");
    expect(rest).toEqual([]);
  });
});

describe("what also changed during the turn", () => {
  const during = (id: string, more: Partial<FileChange> = {}) => {
    const { allowed_by: _, ...rest } = file(id, { via: "command", tool: "k5", ...more });
    return rest;
  };
  const black = (files = [during("x"), during("y")]): AlsoChanged => ({
    files,
    command: "black .",
    tool: "k5",
  });
  const also = (...groups: AlsoChanged[]) => drawn([file("a"), file("b")], { also: groups });

  it("is below the agent's own changes, folded, with the command", () => {
    const { find, el, operations } = also(black(), { files: [during("z", { via: "unknown" })] });
    expect(find(".acp-changes-head")?.textContent).toContain("2 files changed");
    expect(operations(".acp-changes-head")).toEqual(["Keep all", "Undo all"]);
    const [first, second] = [...el.querySelectorAll<HTMLElement>("[data-acp-also]")];
    expect(first?.textContent).toContain("2 more files changed while black . ran");
    expect(second?.textContent).toContain("1 file also changed during this turn");
    expect(el.querySelectorAll("details.acp-also-files[open]").length).toBe(0);
    expect(el.textContent).not.toMatch(/black.*allowed by|by the agent itself/);
    expect(whoOf(during("x"))).toBe("");
  });

  it("names the agent of another session, where it is undone", () => {
    const theirs = during("z", { via: "other", by: "kimi", undoable: false, why: "undo it there" });
    const { find, operations } = also({ files: [theirs], by: "kimi" });
    expect(find("[data-acp-also]")?.textContent).toContain(
      "1 more file changed by kimi in another session",
    );
    expect(operations("[data-acp-also] .acp-also-head > .acp-operations")).toEqual([]);
    expect(whoOf(theirs)).toBe("");
  });

  it("is undone by a click that lists the files, which can be unchecked", async () => {
    const { find, el, emit } = also(black());
    const undo = () =>
      find("[data-acp-also=k5] .acp-also-head > .acp-operations [data-acp-operation=undo]");
    expect(undo()?.textContent).toBe("Undo…");
    undo()?.click();
    await settled();
    expect(emit).not.toHaveBeenCalled();
    const listed = () => [...el.querySelectorAll<HTMLElement>(".acp-also-choice li")];
    expect(listed().map(({ textContent }) => textContent)).toEqual([
      "x.py modified",
      "y.py modified",
    ]);
    press(find(".acp-also-choice"), "Escape");
    await settled();
    expect(find(".acp-also-choice")).toBeNull();
    undo()?.click();
    await settled();
    find<HTMLInputElement>("[data-acp-choose=y]")?.click();
    await settled();
    const button = find(".acp-also-choice [data-acp-operation=undo]");
    expect(button?.textContent).toBe("Undo 1 file");
    button?.click();
    expect(emit.mock.calls).toEqual([[{ t: "undo", turn: "k1", files: ["x"] }]]);
    await settled();
    expect(find(".acp-also-choice")).toBeNull();
  });

  it("is redone, and shows its state", () => {
    const { find, emit } = also(black([during("x", { state: "undone" })]));
    const group = find("[data-acp-also=k5]");
    expect(group?.textContent).toContain("undone");
    group
      ?.querySelector<HTMLElement>(".acp-also-head > .acp-operations [data-acp-operation=redo]")
      ?.click();
    expect(emit).toHaveBeenLastCalledWith({ t: "redo", turn: "k1", files: ["x"] });
  });

  it("has no bulk action if nobody knows what changed it", () => {
    const { find, el } = also({ files: [during("z", { via: "unknown" }), during("w")] });
    expect(
      el.querySelectorAll("[data-acp-also] > .acp-also-head > .acp-operations button").length,
    ).toBe(0);
    find<HTMLElement>(".acp-also-files > summary")?.click();
    expect(find("[data-acp-file=z] [data-acp-operation=undo]")).not.toBeNull();
  });

  it("is not undone with the session", () => {
    const other = { ...changes([], { also: [black()] }), key: "k8" };
    const made = shown([over(), other], null);
    expect(made.find("[data-acp-session-changes]")).toBeNull();
    expect(made.find(".acp-changes-head")?.textContent).toBe("Changed during this turn");
  });
});

describe("the rows of a hunk", () => {
  it("have their numbers, and the words that differ", () => {
    const rows = hunkRows({
      old_start: 3,
      new_start: 5,
      lines: [" a", "-total = 1", "+total = 2", "+more", " b"],
    });
    expect(rows.map((row) => ("old" in row ? [row.kind, row.old, row.now] : row.kind))).toEqual([
      ["same", 3, 5],
      ["gone", 4, undefined],
      ["new", undefined, 6],
      ["new", undefined, 7],
      ["same", 5, 8],
    ]);
  });

  it("mark what differs in matching lines", () => {
    const [, gone] = hunkRows({ old_start: 1, new_start: 1, lines: [" x", "-a = 1", "+a = 2"] });
    expect(gone && "pieces" in gone && gone.pieces.at(-1)).toEqual({ text: "1", marked: true });
  });

  it("say if there is no newline", () => {
    const lines = ["-a", "\\ No newline at end of file", "+a"];
    expect(hunkRows({ old_start: 1, new_start: 1, lines }).map(({ kind }) => kind)).toEqual([
      "gone",
      "note",
      "new",
    ]);
  });
});
