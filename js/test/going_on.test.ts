// The offer of a new session's panel to go on with the conversation that its cell had before.

import { beforeEach, expect, test } from "vitest";
import type { GoingOnMessage } from "../src/types";
import { shown, wired } from "./mounted";

beforeEach(() => document.body.replaceChildren());

const OFFER: GoingOnMessage = {
  t: "going_on",
  title: "This cell had a conversation before.",
  text: "2 turns.",
  quoted: "> The number is 7",
  ways: [
    { how: "resume", label: "Resume this conversation" },
    { how: "context", label: "New session with this conversation" },
    { how: "fresh", label: "Start fresh" },
  ],
};

function offered(offer: Partial<GoingOnMessage> = {}, turn: string | null = null) {
  const made = shown([], turn);
  wired(made);
  made.store.receive({ ...OFFER, ...offer });
  made.frames.draw();
  const buttons = () => [...made.el.querySelectorAll<HTMLButtonElement>("[data-acp-go-on]")];
  return { ...made, buttons };
}

test("the offer has a name, the ways in order, and what would be sent behind a fold", () => {
  const { find, buttons } = offered();
  expect(find("[data-acp-going-on]")?.getAttribute("role")).toBe("group");
  expect(find("[data-acp-going-on]")?.getAttribute("aria-label")).toBe(OFFER.title);
  expect(buttons().map((it) => it.textContent)).toEqual(OFFER.ways.map(({ label }) => label));
  expect(find<HTMLDetailsElement>("[data-acp-going-on] details")?.open).toBe(false);
  expect(find("[data-acp-going-on] pre")?.textContent).toBe(OFFER.quoted);
});

test("nothing is chosen without a click, and a choice is sent once", () => {
  const { emit, buttons, frames } = offered();
  const chosen = () => emit.mock.calls.map(([it]) => it).filter((it) => it.t === "go_on");
  expect(chosen()).toEqual([]);
  buttons()[0]?.click();
  frames.draw();
  expect(buttons().every((it) => it.disabled)).toBe(true);
  buttons()[1]?.click();
  expect(chosen()).toEqual([{ t: "go_on", how: "resume" }]);
});

test("the kernel's next offer can be chosen from, and one without ways removes it", () => {
  const { store, frames, buttons, find } = offered();
  buttons()[0]?.click();
  store.receive({ ...OFFER, text: "The agent no longer has it.", ways: OFFER.ways.slice(1) });
  frames.draw();
  expect(buttons().map((it) => it.disabled)).toEqual([false, false]);
  store.receive({ ...OFFER, ways: [] });
  frames.draw();
  expect(find("[data-acp-going-on]")).toBeNull();
});

test("a conversation of other people is shown as text, with what it hides", () => {
  const { find } = offered({ text: "<b>x</b>", quoted: "> <img src=x onerror=1>\u202e" });
  expect(find("[data-acp-going-on] img, [data-acp-going-on] b")).toBeNull();
  expect(find("[data-acp-going-on] pre")?.textContent).toContain("<img src=x onerror=1>");
  expect(find("[data-acp-going-on] pre")?.textContent).not.toContain("\u202e");
});

test("after a choice the focus is in the field for the next prompt", () => {
  const { buttons } = offered();
  buttons()[2]?.click();
  expect(document.activeElement?.getAttribute("aria-label")).toBe("Prompt for the agent");
});

test("only a panel has the offer, not the turn below a cell", () => {
  expect(offered({}, "t1").find("[data-acp-going-on]")).toBeNull();
});
