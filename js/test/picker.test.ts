// The picker: listed by pages, found by typing, opened and deleted by hand and by keyboard.

import { afterEach, describe, expect, it, vi } from "vitest";
import type { StoredSession, PickedMessage, Picking } from "../src/types";
import { DRAWN, matching } from "../src/view/picker";
import { when } from "../src/view/picker_row";
import { press, settled, shown } from "./mounted";

afterEach(() => document.body.replaceChildren());

const OFFERS = ["list", "load", "fork", "delete", "logout"];

function kept(id: string, more: Partial<StoredSession> = {}): StoredSession {
  const title = `About ${id}`;
  return { id, cwd: "/work", title, updated_at: null, open: false, here: false, ...more };
}

async function opened(offers = OFFERS) {
  const panel = vi.fn(() => Promise.resolve());
  const made = shown([], null, { agent: { name: "demo", offers } }, { panel });
  made.find("[data-acp-sessions]")?.click();
  await settled();
  const asked = () => made.emit.mock.lastCall?.[0] as Picking;
  const answer = async (fields: Partial<PickedMessage>) => {
    made.store.receive({ t: "picked", rid: asked().rid, ...fields });
    made.frames.draw();
    await settled();
  };
  const ids = () =>
    [...made.el.querySelectorAll<HTMLElement>("[data-acp-session]")].map(
      (it) => it.dataset["acpSession"],
    );
  const field = () => made.find<HTMLInputElement>("[data-acp-picker] input");
  const type = async (text: string) => {
    const input = field();
    if (!input) throw new Error("no field");
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await settled();
  };
  return { ...made, panel, asked, answer, ids, field, type };
}

describe("the picker", () => {
  it("exists only if the agent offers something", () => {
    const { find } = shown([], null, { agent: { name: "demo", offers: [] } });
    expect(find("[data-acp-sessions]")).toBeNull();
  });

  it("lists page by page, each session once", async () => {
    const it = await opened();
    expect(it.asked()).toMatchObject({ t: "sessions", cursor: null });
    await it.answer({ sessions: [kept("a", { here: true, open: true }), kept("b")], cursor: "2" });
    expect(it.ids()).toEqual(["a", "b"]);
    it.find("[data-acp-picker-more]")?.click();
    expect(it.asked()).toMatchObject({ t: "sessions", cursor: "2" });
    await it.answer({ sessions: [kept("b"), kept("c")], cursor: null });
    expect(it.ids()).toEqual(["a", "b", "c"]);
    expect(it.find("[data-acp-picker-more]")).toBeNull();
  });

  const status = (it: { find: (what: string) => HTMLElement | null }) =>
    it.find("[data-acp-picker] [role=status]")?.textContent?.trim();

  it("draws some of ten thousand, finds each of them, and says how many there are", async () => {
    const it = await opened();
    const all = Array.from({ length: 10_000 }, (_, number) => kept(`s${number}`));
    await it.answer({ sessions: all, cursor: "2", left_out: 7 });
    expect(it.ids()).toHaveLength(DRAWN);
    expect(status(it)).toBe("10000 sessions so far · 7 more are not listed: too many at once.");
    const asked = it.asked();
    it.find("[data-acp-picker-more]")?.click();
    await settled();
    expect(it.ids()).toHaveLength(2 * DRAWN);
    expect(it.asked()).toBe(asked); // these had come already
    await it.type("s9999");
    expect(it.ids()).toEqual(["s9999"]);
    expect(status(it)).toMatch(/^1 of 10000 sessions so far/);
    it.find("[data-acp-picker-more]")?.click();
    expect(it.asked()).toMatchObject({ t: "sessions", cursor: "2" });
  });

  it("ends a circular list, and says so", async () => {
    const it = await opened();
    await it.answer({ sessions: [kept("a")], cursor: "1" });
    expect(status(it)).toBe("1 session so far");
    it.find("[data-acp-picker-more]")?.click();
    await it.answer({ sessions: [kept("a")], cursor: "1" });
    expect(it.ids()).toEqual(["a"]);
    expect(it.find("[data-acp-picker-more]")).toBeNull();
    expect(status(it)).toBe("1 session · The agent's list starts over here.");
  });

  it("does not call an unfinished list empty", async () => {
    const it = await opened();
    await it.answer({ sessions: [], cursor: "1" });
    expect(status(it)).toBe("No sessions so far.");
    it.find("[data-acp-picker-more]")?.click();
    await it.answer({ sessions: [], cursor: null });
    expect(status(it)).toBe("No sessions yet.");
  });

  it("shows sessions that have neither a title nor a time", async () => {
    const it = await opened();
    await it.answer({ sessions: [kept("a", { title: null, updated_at: null })] });
    expect(it.find(".acp-picker-title")?.textContent).toBe("Untitled");
    expect(it.find("[data-acp-session] time")?.textContent).toBe("");
  });

  it("is searched by typing and opened by Enter, in place of the panel", async () => {
    const it = await opened();
    await it.answer({ sessions: [kept("a"), kept("zed"), kept("zeal")] });
    await it.type("about ZE");
    expect(it.ids()).toEqual(["zed", "zeal"]);
    press(it.field(), "ArrowDown");
    await settled();
    press(it.field(), "Enter");
    expect(it.asked()).toMatchObject({ t: "open", how: "load", id: "zeal" });
    await it.answer({ model: "m1" });
    expect(it.panel).toHaveBeenCalledWith("m1", expect.anything(), expect.anything());
    expect(it.find(".acp-panel")?.hidden).toBe(true);
    it.find("[data-acp-back]")?.click();
    await settled();
    expect(it.find(".acp-panel")?.hidden).toBe(false);
  });

  it("deletes after a confirmation, and shows the agent's error", async () => {
    const it = await opened();
    await it.answer({ sessions: [kept("a"), kept("b")] });
    press(it.field(), "Delete");
    await settled();
    const [yes, no] = it.el.querySelectorAll<HTMLElement>("[data-acp-session=a] button");
    expect([yes?.textContent, no?.textContent]).toEqual(["Delete", "Keep"]);
    expect(document.activeElement).toBe(yes);
    press(yes ?? null, "Escape");
    await settled();
    expect(document.activeElement).toBe(it.field());
    press(it.field(), "Delete");
    await settled();
    it.el.querySelector<HTMLElement>("[data-acp-session=a] button")?.click();
    expect(it.asked()).toMatchObject({ t: "delete", id: "a" });
    await it.answer({ error: "it is locked" });
    expect(it.el.textContent).toContain("it is locked");
    it.el.querySelector<HTMLElement>("[data-acp-session=a] button")?.click();
    await it.answer({ deleted: "a" });
    expect(it.ids()).toEqual(["b"]);
    expect(document.activeElement).toBe(it.field());
    expect(it.find("[data-acp-picker] [role=status]")?.textContent).toBe("1 session");
  });

  it("does not say that there are none if the list failed", async () => {
    const it = await opened();
    await it.answer({ error: "session/list: not now" });
    expect(it.find("[role=alert]")?.textContent).toBe("not now");
    expect(it.el.textContent).not.toContain("No sessions");
  });

  it("forks, starts a new session, signs out, and closes by Escape", async () => {
    const it = await opened();
    await it.answer({ sessions: [kept("a")] });
    it.find("[aria-label='Fork About a']")?.click();
    expect(it.asked()).toMatchObject({ t: "open", how: "fork", id: "a" });
    await it.answer({ error: "no" });
    const named = (text: string) =>
      [...it.el.querySelectorAll("button")].find((button) => button.textContent === text);
    named("Sign out")?.click();
    expect(it.emit).toHaveBeenLastCalledWith({ t: "sign_out" });
    named("New session")?.click();
    expect(it.asked()).toMatchObject({ t: "open", how: "new" });
    press(it.field(), "Escape");
    await settled();
    expect(it.find("[data-acp-picker]")).toBeNull();
    expect(document.activeElement?.hasAttribute("data-acp-sessions")).toBe(true);
  });

  it("shows hostile titles as text, and nothing it cannot do", async () => {
    const it = await opened(["list"]);
    const title = "<img src=x onerror=alert(1)>\u202e\nrm";
    await it.answer({ sessions: [kept("a", { title, updated_at: "yesterday" })] });
    expect(it.find("[data-acp-session] img")).toBeNull();
    expect(it.find(".acp-picker-title")?.textContent).toContain("<img src=x");
    expect(it.find("[data-acp-session]")?.textContent).not.toContain("\u202e");
    expect(it.el.querySelectorAll("[data-acp-session] button")).toHaveLength(0);
    it.find(".acp-picker-about")?.click();
    expect(it.asked().t).toBe("sessions"); // neither load nor resume: it cannot be opened
  });
});

it("finds all words anywhere", () => {
  const rows = [kept("x1", { cwd: "/home/me/Project" }), kept("y", { title: null })];
  expect(matching(rows, "project x1").map((row) => row.id)).toEqual(["x1"]);
  expect(matching(rows, " ")).toBe(rows);
  expect(matching(rows, "nowhere")).toEqual([]);
});

it("shows times for people, and other texts unchanged", () => {
  expect(when("2026-01-02T03:04:05Z")).toMatch(/2026/);
  expect(when("soon\n")).toBe("soon ⏎ ");
  expect(when(null)).toBe("");
});
