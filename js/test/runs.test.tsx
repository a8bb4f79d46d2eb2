// @vitest-environment jsdom
// The table of a fan-out: what it draws, sorts, opens and asks for; and how little of a large one it draws.

import { h, render } from "preact";
import { afterEach, describe, expect, it, vi } from "vitest";
import { RunsStore } from "../src/runs_store";
import { RUNS } from "../src/static";
import type { FileChange, FromRuns, OperationIntent, Progress, TableRow } from "../src/types";
import { PAGE_ROWS, RunsView } from "../src/view/runs";
import { columnsOf, sorted } from "../src/view/runs_columns";
import { Frames } from "./helpers";
import { settled } from "./mounted";

afterEach(() => document.body.replaceChildren());

const EVIL = '<img src=x onerror="window.pwned=1">';

function row(index: number, fields: Partial<TableRow> = {}): TableRow {
  return {
    index,
    prompt: "Fix it",
    agent: "demo",
    attempt: 1,
    state: "done",
    fields: {},
    ...fields,
  };
}

function progressOf(rows: readonly TableRow[], fields: Partial<Progress> = {}): Progress {
  const counts: Record<string, number> = {};
  for (const { state } of rows) counts[state] = (counts[state] ?? 0) + 1;
  return { total: rows.length, counts, seconds: 3, costs: {}, notices: [], ...fields };
}

function drawn(rows: readonly TableRow[], fields: Partial<Progress> = {}) {
  const frames = new Frames();
  const store = new RunsStore(frames.schedule, () => 100_000);
  const el = document.body.appendChild(document.createElement("div"));
  const stop = vi.fn();
  const apply = vi.fn((run: number, operation: OperationIntent | null) =>
    store.setApplying(run, operation),
  );
  const setOpen = vi.fn((runs: ReadonlySet<number>) => store.setOpen(runs));
  const draw = () => render(h(RunsView, { snapshot: store.snapshot, stop, apply, setOpen }), el);
  store.subscribe(draw);
  const receive = async (message: FromRuns) => {
    const taken = store.receive(message);
    frames.draw();
    await settled();
    return taken;
  };
  store.receive({ t: "table", seq: 1, rows, progress: progressOf(rows, fields) });
  frames.draw();
  const cells = (column: string) =>
    [...el.querySelectorAll(`td[data-column=${column}]`)].map((it) => it.textContent?.trim());
  const click = async (query: string) => {
    el.querySelector<HTMLElement>(query)?.click();
    await settled();
    frames.draw();
    await settled();
  };
  return { store, el, stop, apply, setOpen, receive, cells, click };
}

describe("the table", () => {
  it("shows a row for each run, with the columns that say something", () => {
    const it = drawn([
      row(0, { seconds: 2.34, added: 3, removed: 1, cost: 0.25, currency: "USD", score: 0.5 }),
      row(1, { agent: "other", state: "failed", error: "no luck" }),
    ]);
    expect(it.cells("agent")).toEqual(["demo", "other"]);
    expect(it.cells("state")).toEqual(["✓ done", "✕ failed"]);
    expect(it.cells("time")).toEqual(["2.3 s", ""]);
    expect(it.cells("lines")).toEqual(["+3 −1", ""]);
    expect(it.cells("cost")).toEqual(["$0.25", ""]);
    expect(it.cells("score")).toEqual(["0.5", ""]);
    expect(it.cells("prompt")).toEqual(["Fix it", "Fix it — no luck"]);
    expect(it.cells("attempt")).toEqual([]);
    expect(it.el.querySelector(".acp-runs-counts")?.textContent).toBe("2 runs: 1 done, 1 failed");
  });

  it("leaves out columns that are empty for all runs", () => {
    expect(columnsOf([row(0)])).toEqual(["run", "prompt", "agent", "state", "time", "lines"]);
    expect(columnsOf([row(0, { attempt: 2, score: 1, cost: 0 })])).toContain("attempt");
  });

  it("shows progress, an estimate, the cost and what to know, and stops on a click, once", async () => {
    const rows = [row(0), row(1, { state: "running", seconds: 4 }), row(2, { state: "queued" })];
    const notices = ["Agents' own tools have your rights."];
    const it = drawn(rows, { left: 65, costs: { USD: 1.5 }, notices });
    const line = it.el.querySelector(".acp-runs-counts")?.textContent;
    expect(line).toBe("1 of 3 · 1 running · about 1 min 5 s left · $1.50");
    expect(it.el.textContent).toContain(notices[0]);
    const bar = it.el.querySelector("[role=progressbar]");
    expect(bar?.getAttribute("aria-valuenow")).toBe("1");
    await it.click("[data-acp-stop]");
    expect(it.stop).toHaveBeenCalledTimes(1);
    expect(it.el.querySelector("[data-acp-stop]")?.textContent).toBe("Stopping…");
    expect(it.el.querySelector<HTMLButtonElement>("[data-acp-stop]")?.disabled).toBe(true);
  });

  it("sorts by a column, both ways, with rows without a value last", async () => {
    const it = drawn([
      row(0, { score: 0.2 }),
      row(1),
      row(2, { score: 0.9 }),
      row(3, { score: 0.2 }),
    ]);
    const runs = () => it.cells("run").map((text) => Number(text?.slice(1)));
    await it.click("th[data-column=score] button");
    expect(runs()).toEqual([2, 0, 3, 1]);
    expect(it.el.querySelector("th[data-column=score]")?.ariaSort ?? "descending").toBe(
      "descending",
    );
    await it.click("th[data-column=score] button");
    expect(runs()).toEqual([0, 3, 2, 1]);
  });

  it("opens a row with what the kernel rendered, and forgets it when it is closed", async () => {
    const it = drawn([row(0), row(1)]);
    await it.click("[data-acp-run='1'] button");
    expect(it.setOpen.mock.lastCall?.[0]).toEqual(new Set([1]));
    expect(it.el.textContent).toContain("Loading…");
    await it.receive({ t: "details", run: 1, html: "<p>The <b>answer</b></p>" });
    await it.receive({ t: "details", run: 0, html: "<p>not asked for</p>" });
    expect(it.el.querySelector(".acp-runs-details b")?.textContent).toBe("answer");
    expect(it.el.textContent).not.toContain("not asked for");
    const button = it.el.querySelector("[data-acp-run='1'] button");
    expect(button?.getAttribute("aria-expanded")).toBe("true");
    await it.click("[data-acp-run='1'] button");
    expect(it.setOpen.mock.lastCall?.[0]).toEqual(new Set());
    expect(it.store.snapshot.details.size).toBe(0);
  });

  it("applies the changes of a run, undoes them, and says why it could not", async () => {
    const it = drawn([
      row(0, { files: 2, added: 1 }),
      row(1),
      row(2, { files: 1, state: "running" }),
    ]);
    for (const run of [0, 1, 2]) await it.click(`[data-acp-run='${run}'] button`);
    expect(it.el.querySelectorAll("[data-acp-apply]").length).toBe(1);
    await it.click("[data-acp-apply]");
    expect(it.apply).toHaveBeenLastCalledWith(0, null);
    expect(it.el.querySelector<HTMLButtonElement>("[data-acp-apply]")?.disabled).toBe(true);
    await it.receive({ t: "apply_ended", run: 0, error: `a conflict in ${EVIL}` });
    expect(it.el.querySelector("[role=alert]")?.textContent).toBe(`a conflict in ${EVIL}`);
    await it.click("[data-acp-apply]");
    expect(it.el.querySelector("[role=alert]")).toBeNull();
    const rows = [row(0, { files: 2, applied: true })];
    await it.receive({ t: "rows", seq: 2, rows, progress: progressOf(rows) });
    await it.receive({ t: "apply_ended", run: 0 });
    expect(it.el.querySelector("[data-acp-apply]")?.textContent).toBe("Applied to your folder");
  });

  it("lets the user apply again if the answer was lost, and the whole table comes", async () => {
    const rows = [row(0, { files: 2 })];
    const it = drawn(rows);
    await it.click("[data-acp-run='0'] button");
    await it.click("[data-acp-apply]");
    expect(it.el.querySelector<HTMLButtonElement>("[data-acp-apply]")?.disabled).toBe(true);
    await it.receive({ t: "table", seq: 9, rows, progress: progressOf(rows) });
    expect(it.el.querySelector<HTMLButtonElement>("[data-acp-apply]")?.disabled).toBe(false);
  });

  it("lists what was applied, with Keep and Undo by file and hunk", async () => {
    const hunk = (id: string, at: number) => ({
      id,
      old_start: at,
      old_count: 1,
      new_start: at,
      new_count: 1,
      lines: ["-old", `+${EVIL}`],
      undone: false,
    });
    const file = (id: string, path: string, state = "applied"): FileChange => ({
      id,
      path,
      action: "modified",
      added: 2,
      removed: 2,
      hunks: [hunk("h1", 1), hunk("h2", 9)],
      state,
      undoable: true,
      via: "other",
    });
    const it = drawn([row(0, { files: 3, applied: true })]);
    await it.click("[data-acp-run='0'] button");
    const changes = [file("f1", "a.py"), file("f2", EVIL, "undone")];
    await it.receive({ t: "details", run: 0, html: "<p>x</p>", changes });
    expect(it.el.querySelector("[data-acp-apply]")).toBeNull();
    expect(it.el.querySelector("img")).toBeNull();
    expect(it.el.textContent).toContain("1 more files are not shown here");
    const operations = (query: string) =>
      [...it.el.querySelectorAll(`${query} [data-acp-operation]`)].map((at) => at.textContent);
    expect(operations(".acp-changes-head")).toEqual(["Keep all", "Undo all"]);
    expect(operations("[data-acp-file=f1]")).toEqual(["Keep", "Undo"]);
    expect(operations("[data-acp-file=f2]")).toEqual(["Redo"]);
    await it.click("[data-acp-file=f1] .acp-expand");
    await it.click("[data-acp-hunk=h2] [data-acp-operation=undo]");
    expect(it.apply).toHaveBeenLastCalledWith(0, { t: "undo", turn: "0", file: "f1", hunk: "h2" });
    const button = it.el.querySelector("[data-acp-file=f2] [data-acp-operation]");
    expect(button?.getAttribute("aria-disabled"), "one at a time").toBe("true");
    await it.receive({ t: "apply_ended", run: 0 });
    await it.click(".acp-changes-head [data-acp-operation=undo]");
    expect(it.apply).toHaveBeenLastCalledWith(0, { t: "undo", turn: "0" });
    await it.receive({ t: "apply_ended", run: 0 });
    await it.click("[data-acp-file=f1] .acp-changed-head [data-acp-operation=keep]");
    expect(it.apply).toHaveBeenLastCalledWith(0, { t: "keep", turn: "0", file: "f1" });
  });

  it("keeps what the user has opened in a run that goes on", async () => {
    const it = drawn([row(0, { state: "running" })]);
    await it.click("[data-acp-run='0'] button");
    const html = (text: string) => `<details><summary>Edit</summary>x</details><p>${text}</p>`;
    await it.receive({ t: "details", run: 0, html: html("one") });
    const fold = it.el.querySelector("details");
    if (fold) fold.open = true;
    await it.receive({ t: "details", run: 0, html: html("two") });
    expect(it.el.querySelector("details")?.open).toBe(true);
    expect(it.el.textContent).toContain("two");
  });

  it("draws one page of ten thousand rows", async () => {
    const rows = Array.from({ length: 10_000 }, (_, index) => row(index));
    const it = drawn(rows);
    expect(it.el.querySelectorAll("[data-acp-run]").length).toBe(PAGE_ROWS);
    expect(it.el.textContent).toContain("1–50 of 10,000");
    const buttons = [...it.el.querySelectorAll<HTMLButtonElement>(".acp-runs-pager button")];
    buttons.find((button) => button.textContent === "Last")?.click();
    await settled();
    expect(it.el.querySelector("[data-acp-run]")?.getAttribute("data-acp-run")).toBe("9950");
  });

  it("says that the kernel is gone", async () => {
    const it = drawn([row(0, { state: "running" })]);
    it.store.setLink("gone");
    await it.receive({
      t: "rows",
      seq: 2,
      rows: [],
      progress: progressOf([row(0)], { counts: { running: 1 } }),
    });
    expect(it.el.textContent).toContain("The kernel is gone");
    expect(it.el.querySelector("[data-acp-stop]")).toBeNull();
  });
});

describe("messages", () => {
  it("takes changed rows, and notices a lost message", async () => {
    const it = drawn([row(0, { state: "queued" }), row(1, { state: "queued" })]);
    const now = [row(0), row(1, { state: "running", seconds: 7 })];
    expect(await it.receive({ t: "rows", seq: 2, rows: now, progress: progressOf(now) })).toBe(
      true,
    );
    expect(it.cells("state")).toEqual(["✓ done", "◐ running"]);
    expect(it.store.snapshot.since.get(1)).toBe(93_000);
    expect(await it.receive({ t: "rows", seq: 4, rows: [row(1)], progress: progressOf(now) })).toBe(
      false,
    );
    expect(it.cells("state")[1]).toBe("◐ running");
    expect(await it.receive({ t: "rows", seq: 2, rows: [row(1)], progress: progressOf(now) })).toBe(
      true,
    );
    expect(it.store.have).toBe(2);
  });

  it("knows when all runs have ended, and keeps what the file gets", async () => {
    const it = drawn([row(0, { state: "scoring" })]);
    expect(it.store.isOver).toBe(false);
    const ended = [row(0, { state: "lost" })];
    await it.receive({ t: "rows", seq: 2, rows: ended, progress: progressOf(ended) });
    expect(it.store.isOver).toBe(true);
    await it.receive({ t: "table_static", bundle: { "text/plain": "x" }, places: [["m", "c"]] });
    expect(it.store.bundle).toEqual({ "text/plain": "x" });
    expect(it.store.places).toEqual([{ model: "m", cell: "c", turn: RUNS }]);
  });
});

describe("hostile text", () => {
  it("stays text in every cell", async () => {
    const evil = { prompt: EVIL, agent: EVIL, error: EVIL, score_text: EVIL, doing: EVIL };
    const it = drawn([row(0, { ...evil, state: "failed" })], { notices: [EVIL], stopped: EVIL });
    await it.click("[data-acp-run='0'] button");
    expect(it.el.querySelector("img")).toBeNull();
    expect(it.cells("agent")).toEqual([EVIL]);
  });
});

it("sorts states by what needs attention, and keeps the order of equals", () => {
  const rows = [row(0, { state: "queued" }), row(1), row(2, { state: "failed" }), row(3)];
  expect(sorted(rows, { by: "state", down: false })).toEqual([2, 1, 3, 0]);
  expect(sorted(rows, { by: "run", down: true })).toEqual([3, 2, 1, 0]);
});
