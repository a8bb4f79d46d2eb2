// What is wrong with the session, in a page that shows it in several places.

import { afterEach, expect, test, vi } from "vitest";
import { mountView } from "../src/view/mount";
import { Places } from "../src/view/places";
import type { Emit, Header } from "../src/types";
import { makeStore, state, turn } from "./helpers";
import { settled } from "./mounted";

afterEach(() => document.body.replaceChildren());

const DEAD: Partial<Header> = { status: "dead", detail: "it exited with code 1\nhint: read this" };
const SIGN_IN: Partial<Header> = { status: "signed_out", sign_in: { methods: [], keys: [] } };
const KEY = { methods: [], keys: [{ name: "A_KEY", label: "" }] };

/** A panel and the turn below its cell, in one page. */
function page(session: Partial<Header>, views: readonly (string | null)[] = [null, "t1"]) {
  const made = makeStore();
  const [emit, reveal, places] = [vi.fn<Emit>(), vi.fn(), new Places()];
  const begin = state(turn({ status: "running" }));
  made.store.receive({
    t: "state",
    seq: 1,
    state: { ...begin, session: { ...begin.session, ...session } },
  });
  const mounted = views.map((view) => {
    const el = document.body.appendChild(document.createElement("div"));
    const gone = new AbortController();
    mountView(made.store, emit, view, el, gone.signal, { reveal }, false, places);
    return { el, gone };
  });
  return { ...made, emit, reveal, views: mounted };
}

const all = (query: string) => [...document.querySelectorAll<HTMLElement>(query)];

test.each([
  [DEAD, "[data-acp-trouble]", "demo is not running."],
  [SIGN_IN, "[data-acp-signin]", "demo requires you to sign in."],
])(
  "it is told in the panel, and a line below the cell leads there",
  async (session, note, says) => {
    const { views, reveal } = page({ ...session, agent: { name: "demo" } });
    await settled();
    const [panel, cell] = views;
    expect(all(note).map((it) => panel?.el.contains(it))).toEqual([true]);
    const line = cell?.el.querySelector("[data-acp-in-panel]");
    expect(line?.textContent).toContain(says);
    line?.querySelector("button")?.click();
    expect(reveal.mock.calls[0]?.[0]).toBe(panel?.el.querySelector(".acp-panel"));
    panel?.gone.abort(); // the panel's cell is removed
    await settled();
    expect(all(note).map((it) => cell?.el.contains(it))).toEqual([true]);
    expect(all("[data-acp-in-panel]")).toEqual([]);
  },
);

test("below the cell that waits for a session, the sign-in is there until a panel has it", async () => {
  page({ ...SIGN_IN, agent: { name: "demo" } }, ["sign-in"]);
  expect(all("[data-acp-signin]").length).toBe(1);
  document.body.replaceChildren();
  page({ ...SIGN_IN, agent: { name: "demo" } }, [null, "sign-in"]);
  await settled();
  expect(all("[data-acp-signin]").length).toBe(1);
  expect(all("[data-acp-in-panel]").length).toBe(1);
});

test("the reason why an agent does not start is given once", async () => {
  const { store, frames } = page({ ...DEAD, agent: { name: "demo" } });
  store.receive({ t: "refused", what: "it exited with code 1\nhint: read this", prompt: "hello" });
  frames.draw();
  await settled();
  const text = document.body.textContent ?? "";
  expect(text.split("it exited with code 1").length - 1).toBe(1);
  expect(text.split("read this").length - 1).toBe(1);
  expect(text).toContain("It was started again, without success");
});

test("any other refusal is told once, in the panel", async () => {
  const { store, frames, views, emit } = page({ status: "idle" }, [null, "t1", "t1"]);
  store.receive({ t: "refused", what: "this question is answered" });
  frames.draw();
  await settled();
  const told = all("[role=alert]").filter((it) => it.textContent?.includes("Not done"));
  expect(told.map((it) => views[0]?.el.contains(it))).toEqual([true]);
  told[0]?.querySelector("button")?.click();
  expect(emit).toHaveBeenLastCalledWith({ t: "dismiss" });
});

test("no two elements of a page have the same id", async () => {
  page({ status: "signed_out", sign_in: KEY }, [null, null, null]);
  for (const button of all("[data-acp-more]")) button.click();
  await settled();
  const ids = all("[id]").map(({ id }) => id);
  expect(ids.length).toBeGreaterThanOrEqual(4); // three fields and a menu
  expect(new Set(ids).size).toBe(ids.length);
});
