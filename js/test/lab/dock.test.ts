import { beforeEach, expect, test } from "vitest";
import { Dock } from "../../lab/src/dock";
import { shell } from "../../src/shell";
import type { PageSession } from "../../src/shell";

let drawn: string[];
let dock: Dock;

beforeEach(() => {
  localStorage.clear();
  document.body.innerHTML = '<div class="jp-Cell"><div id="view"></div></div><div id="side"></div>';
  drawn = [];
  dock = new Dock();
});

const at = (id: string) => document.querySelector<HTMLElement>(`#${id}`)!;

function place(session: string, signal = new AbortController().signal): void {
  shell().panel?.(session, at("view"), signal, (el, until) => {
    drawn.push(`${session} in its cell`);
    el.append("the panel");
    until.addEventListener("abort", () => drawn.push(`${session} left its cell`));
  });
}

test("a panel is below its cell until it is moved, and comes back", () => {
  place("s1");
  dock.add("s1");
  expect(drawn).toEqual(["s1 in its cell", "s1 left its cell"]);
  expect(at("view").textContent).toContain("This conversation is in the side panel");
  at("view").querySelector("button")?.click();
  expect(drawn.at(-1)).toBe("s1 in its cell");
  expect(at("view").textContent).toBe("the panel");
});

test("a reloaded page remembers what was moved", () => {
  dock.add("s1");
  dock = new Dock();
  place("s1");
  expect(drawn).toEqual([]);
  expect(dock.has("s1")).toBe(true);
});

test("a cell that runs again shows its new session where the old one was", () => {
  const view = new AbortController();
  place("s1", view.signal);
  dock.add("s1");
  view.abort();
  place("s2");
  expect(dock.has("s2")).toBe(true);
});

test("in the side panel a session can show the widgets of others", async () => {
  const mounted: unknown[] = [];
  const mount: PageSession["mount"] = (...all) => mounted.push(all);
  const session = { id: "s3", mount } as unknown as PageSession;
  shell().sessions.set("s3", session);
  dock.drawAside(session, at("side"), new AbortController().signal);
  const [turn, el, , model, page, inside] = mounted[0] as Parameters<PageSession["mount"]>;
  expect([turn, el, model, inside]).toEqual([null, at("side"), "s3", true]);
  const widget = await page!.getWidget<{ mount: PageSession["mount"] }>("anywidget:s3");
  widget.exports.mount("t1", at("side"), new AbortController().signal, "s3");
  expect((mounted[1] as unknown[])[0]).toBe("t1");
  await expect(page!.getWidget("anywidget:none")).rejects.toThrow("timed out");
});
