// The facts of a turn, copying, exporting and following.

import { afterEach, expect, test, vi } from "vitest";
import type { ExportedMessage } from "../src/types";
import { sourceOf } from "../src/view/copy_message";
import { placeOf } from "../src/view/follow_agent";
import { factsOf } from "../src/view/turn_facts";
import { groupTurns } from "../src/turns";
import { message, question, soon, turn } from "./helpers";
import { settled, shown, tool, wired } from "./mounted";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("a turn's facts are those that are known", () => {
  const usd = (amount: number) => ({ amount, currency: "USD" });
  expect(factsOf(turn({ seconds: 12.4, usage: { total: 3400 }, cost: usd(0.25) }))).toEqual([
    "12 s",
    "3.4k tokens",
    "$0.25",
  ]);
  expect(factsOf(turn({ seconds: 0.4, cost: usd(0) }))).toEqual([]);
  expect(factsOf(turn({ usage: { input: 10, output: 20 } }))).toEqual(["10 tokens in, 20 out"]);
  expect(factsOf(turn({ usage: { output: 20 } }))).toEqual([]);
  expect(shown([turn({ status: "running", seconds: 5 })]).find("[data-acp-facts]")).toBeNull();
  expect(shown([turn({ status: "done", seconds: 5 })]).find("[data-acp-facts]")?.textContent).toBe(
    "5 s",
  );
});

test("a message is copied as its source", async () => {
  const written: string[] = [];
  vi.stubGlobal("navigator", {
    clipboard: { writeText: async (it: string) => void written.push(it) },
  });
  const { el } = shown([turn({ status: "done" }), message("k2", "**bold**\n")]);
  for (const button of el.querySelectorAll<HTMLElement>(".acp-copy-message button")) button.click();
  await settled();
  expect(written).toEqual(["Fix it", "**bold**"]);
  expect(el.querySelector(".acp-message .acp-copy")?.textContent).toBe("Copied");
  expect(sourceOf([{ type: "resource_link", uri: "file:///a", name: "a" }])).toBe("[a](file:///a)");
  expect(sourceOf([{ type: "image", data: "", mime_type: "image/png" }])).toBe("");
});

const answer = (fields: Partial<ExportedMessage>): ExportedMessage => ({
  ...{ t: "exported", view: "v", rid: "html 1", text: "", part: 0, of: 1 },
  ...{ name: "a.html", mime_type: "text/html" },
  ...fields,
});

function exporting() {
  const panel = shown([turn({ status: "done" })], null);
  wired(panel);
  const saved: Blob[] = [];
  vi.spyOn(URL, "createObjectURL").mockImplementation((it) => (saved.push(it as Blob), "blob:x"));
  const receive = async (message: ExportedMessage) => {
    panel.store.receive(message);
    panel.frames.draw();
    await settled();
  };
  return { ...panel, saved, receive };
}

test("an export is fetched part by part and saved as one file", async () => {
  const { find, emit, saved, receive } = exporting();
  find("[data-acp-more]")?.click();
  await settled();
  find("[data-acp-export-html]")?.click();
  await settled();
  const asked = () => emit.mock.calls.map(([it]) => it).filter(({ t }) => t === "export");
  expect(asked()).toEqual([{ t: "export", rid: "html 1", form: "html", part: 0 }]);
  await receive(answer({ text: "<p>", of: 2 }));
  await soon(() => expect(asked()[1]).toMatchObject({ part: 1 }));
  await settled();
  expect(find("[data-acp-export-note]")?.textContent).toContain("Exporting… 1 of 2");
  await receive(answer({ text: "</p>", part: 1, of: 2 }));
  await soon(() => expect(saved).toHaveLength(1));
  await settled();
  expect(await saved[0]?.text()).toBe("<p></p>");
  expect(find("[data-acp-export-note]")).toBeNull();
});

test("an export that failed says why", async () => {
  const { find, receive, saved } = exporting();
  find("[data-acp-more]")?.click();
  await settled();
  find("[data-acp-export-html]")?.click();
  await settled();
  await receive(answer({ error: "no room" }));
  await soon(() =>
    expect(find("[data-acp-export-note] [role=alert]")?.textContent).toBe("Export failed: no room"),
  );
  find("[data-acp-export-note] button")?.click();
  await settled();
  expect(find("[data-acp-export-note]")).toBeNull();
  expect(saved).toEqual([]);
});

test("the agent is where its newest call is, unless it asks", () => {
  const at = (...items: Parameters<typeof groupTurns>[0][number][]) =>
    placeOf(groupTurns([turn(), ...items]));
  expect(at()).toBeNull();
  expect(at(tool())).toEqual({ path: "sum.py", line: 3, cells: [] });
  expect(at(tool(), message("k7", "done"))).toMatchObject({ path: "sum.py" });
  expect(at(tool(), question())).toBeNull();
  const run = {
    type: "run" as const,
    ...{ run_id: "r", code: "", status: "ok", seconds: 0, outputs: [], notes: [] },
    cells: [{ id: "c7", status: "ok", source: "1", outputs: [] }],
  };
  expect(at(tool({ locations: [], content: [run] }))).toEqual({
    ...{ path: null, line: undefined, cells: ["c7"] },
  });
});

test("following shows new places only, once each", async () => {
  const show = vi.fn(() => true);
  const follow = vi.fn(async () => undefined);
  const files = {
    notebook: () => "n.ipynb",
    address: () => "",
    open: async () => null,
    show,
    follow,
  };
  const panel = shown(
    [turn(), tool()],
    null,
    { agent: { name: "a", cwd: "/w" } as never },
    { files },
  );
  wired(panel);
  const receive = (message: Parameters<typeof panel.store.receive>[0]) => {
    panel.store.receive(message);
    panel.frames.draw();
  };
  receive({ t: "places", view: "", prefixes: [["/w", ""]] });
  const followed = (...place: unknown[]) =>
    soon(() => expect(follow.mock.calls.at(-1)).toEqual(place));
  panel.emit({ t: "fold", key: "follow-agent", open: true });
  await followed("sum.py", 3);
  panel.patch(["set", "k5", ["locations"], [{ path: "/w/other.py", line: 9 }]]);
  await followed("other.py", 9);
  panel.patch(["set", "k5", ["title"], "Still there"]);
  panel.patch(["set", "k5", ["locations"], [{ path: "/w/third.py" }]]);
  await followed("third.py", undefined);
  expect(follow).toHaveBeenCalledTimes(3);
});
