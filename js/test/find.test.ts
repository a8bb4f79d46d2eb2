// The search: what it finds in the data, how it steps, and what it marks in the page.

import { expect, test } from "vitest";
import { groupTurns, terminalsOf } from "../src/turns";
import type { Item } from "../src/types";
import { hitsIn, MOST_HITS, patternOf } from "../src/view/find";
import type { Hit } from "../src/view/find";
import { rangesIn } from "../src/view/marks";
import { message, soon, turn } from "./helpers";
import { press, settled, shown, tool, wired } from "./mounted";

function hits(items: Item[], query: string): Hit[] {
  const pattern = patternOf(query);
  const terminals = terminalsOf(items, { byId: new Map(), cited: new Set() });
  if (!pattern) return [];
  return [...hitsIn(groupTurns(items), terminals, pattern)].filter((hit) => hit !== null);
}

test("a query is text, in any case, with any white space", () => {
  expect(patternOf("  ")).toBeNull();
  const items = [turn(), message("k2", "A (b)*\n  c. a (B)* c")];
  expect(hits(items, "a (b)* c")).toHaveLength(2);
  expect(hits(items, "[ab]")).toHaveLength(0);
});

test("prompts, messages, titles, diffs, terminals, runs and plans are searched", () => {
  const items: Item[] = [
    turn({ prompt: [{ type: "text", text: "one needle" }] }),
    message("k2", "a needle and a needle"),
    tool({
      key: "k3",
      title: "Find the needle",
      content: [
        { type: "terminal", terminal_id: "t" },
        { type: "diff", path: "a.py", old_text: "needle\nsame needle", new_text: "same needle" },
        {
          type: "run",
          run_id: "r",
          code: "needle = 1",
          status: "ok",
          seconds: 0,
          outputs: [{ type: "stream", name: "stdout", text: "nee\x1b[31mdle\x1b[0m" }],
          cells: [],
          notes: [],
        },
      ],
    }),
    { type: "terminal", key: "k4", turn: "k1", id: "t", status: "exited", output: "needle\n" },
    {
      type: "plan",
      key: "k5",
      turn: "k1",
      entries: [{ content: "needle", priority: "", status: "" }],
    },
    { type: "notice", key: "k6", turn: "k1", severity: "info", title: "needle", source: "client" },
  ];
  const found = hits(items, "needle");
  expect(found.map(({ item, at }) => `${item}:${at}`)).toEqual([
    "k1:0",
    ...["k2:0", "k2:1"],
    ...["k3:0", "k3:1", "k3:2", "k3:3", "k3:4", "k3:5"],
    ...["k5:0", "k6:0"],
  ]);
  expect(found[0]?.entry).toBeNull();
  expect(found[1]).toMatchObject({ turn: "k1", entry: "k2" });
});

test("a call in a group is found by the group", () => {
  const reads = [1, 2, 3].map((n) =>
    tool({ key: `k${n + 1}`, kind: "read", status: "completed", title: `Read ${n}` }),
  );
  expect(hits([turn(), ...reads], "read 2")).toEqual([
    { turn: "k1", entry: "group:k2", item: "k3", at: 0 },
  ]);
});

test("a long conversation is searched to its end", () => {
  const many = Array.from({ length: 10_000 }, (_, n) => message(`m${n}`, "some words ".repeat(50)));
  expect(hits([turn(), ...many, message("last", "needle")], "needle")).toHaveLength(1);
});

test("ranges go across elements, and leave out buttons", () => {
  const el = document.createElement("div");
  el.innerHTML = "<p>a nee<b>dle</b> and</p><button>needle</button><i>NEEDLE</i>";
  const found = rangesIn(el, patternOf("needle") as RegExp);
  expect(found.map(String)).toEqual(["needle", "NEEDLE"]);
});

// ---- the field

function search(panel: ReturnType<typeof shown>, text: string): void {
  const field = panel.find<HTMLInputElement>("[data-acp-find]");
  if (!field) throw new Error("no field");
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

test("Ctrl+F opens the field, Enter and Shift+Enter step, Esc gives the focus back", async () => {
  const panel = shown(
    [turn({ status: "done" }), message("k2", "yy yy"), message("k3", "yy")],
    null,
  );
  wired(panel);
  const area = panel.find("textarea");
  area?.focus();
  await soon(() => expect(press(area, "f", { ctrlKey: true }).defaultPrevented).toBe(true));
  await settled();
  const field = panel.find<HTMLInputElement>("[data-acp-find]");
  expect(document.activeElement).toBe(field);
  expect(press(field, "f", { ctrlKey: true }).defaultPrevented).toBe(false); // the browser's own
  search(panel, "yy");
  const count = () => panel.find("[data-acp-hits]")?.textContent;
  await soon(() => expect(count()).toBe("3 of 3")); // the newest
  press(field, "Enter");
  await settled();
  expect(count()).toBe("1 of 3");
  press(field, "Enter", { shiftKey: true });
  await settled();
  expect(count()).toBe("3 of 3");
  search(panel, "nothing like it");
  await soon(() => expect(count()).toBe("Not found"));
  press(field, "Escape");
  await settled();
  expect(panel.find("[data-acp-find]")).toBeNull();
  expect(document.activeElement).toBe(area);
});

test("hits beyond the limit are not counted", async () => {
  const panel = shown([turn({ status: "done" }), message("k2", "yy ".repeat(MOST_HITS + 5))], null);
  wired(panel);
  await soon(() => {
    expect(press(panel.find("textarea"), "f", { metaKey: true }).defaultPrevented).toBe(true);
  });
  await settled();
  search(panel, "yy");
  await soon(() =>
    expect(panel.find("[data-acp-hits]")?.textContent).toContain(`of ${MOST_HITS} or more`),
  );
});
