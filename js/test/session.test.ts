import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConfigOption, Header, Item } from "../src/types";
import { activityOf } from "../src/view/activity";
import { duration } from "../src/view/elapsed";
import { NEWEST_TURNS, TURNS_AT_ONCE } from "../src/view/session";
import { AT_ONCE, NEWEST } from "../src/view/turn";
import { money, short } from "../src/view/usage";
import { message, now, question, soon, turn } from "./helpers";
import { settled, shown, tool, wired } from "./mounted";

beforeEach(() => document.body.replaceChildren());
afterEach(() => void vi.unstubAllGlobals());

const MODEL: ConfigOption = {
  id: "model",
  name: "Model",
  type: "select",
  value: "mini",
  description: "Which one thinks",
  choices: [
    { value: "mini", name: "Mini", group: "Small", description: "Quick" },
    { value: "max", name: "Max", group: "Large" },
  ],
};
const LOUD: ConfigOption = { id: "loud", name: "Loud", type: "boolean", value: false, choices: [] };

function choose(select: HTMLSelectElement | null, value: string) {
  if (!select) throw new Error("no such setting");
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
}

/** A session whose settings are open. */
async function withSettings(session: Partial<Header>) {
  const made = shown([turn()], null, session);
  made.find("[data-acp-settings]")?.click();
  await settled();
  return made;
}

test("the header says who, what, how, and what it costs", () => {
  const { find } = shown([turn()], null, {
    status: "working",
    title: "Fix the mean",
    agent: { name: "demo", title: "Demo agent", version: "1" },
    usage: { used: 50_000, size: 200_000, cost: { amount: 0.5, currency: "USD" } },
  });
  const header = find("[data-acp-header]");
  for (const part of ["Demo agent", "Fix the mean", "Waiting for the agent", "25%", "$0.50"])
    expect(header?.textContent).toContain(part);
  expect(find("[role=meter]")?.getAttribute("aria-valuetext")).toBe("25% of 200k tokens");
});

test("options are set, and are pending until the agent confirms", async () => {
  const made = await withSettings({ config: [MODEL, LOUD] });
  wired(made);
  const select = made.find<HTMLSelectElement>("[data-acp-config='model']");
  expect([...(select?.querySelectorAll("optgroup") ?? [])].map(({ label }) => label)).toEqual([
    "Small",
    "Large",
  ]);
  expect(select?.title).toBe("Model: Which one thinks · Quick");
  choose(select, "max");
  expect(made.emit).toHaveBeenLastCalledWith({ t: "config", id: "model", value: "max" });
  expect([select?.value, select?.disabled]).toEqual(["max", true]);
  made.patch(["set", "session", ["config"], [{ ...MODEL, value: "max" }, LOUD] as never]);
  expect([select?.value, select?.disabled]).toEqual(["max", false]);
  made.find("[data-acp-config='loud']")?.click();
  expect(made.emit).toHaveBeenLastCalledWith({ t: "config", id: "loud", value: true });
});

test("the kernel's tools are switched off, and the switch waits for the kernel", async () => {
  const made = await withSettings({ kernel_tools: true });
  wired(made);
  const box = made.find<HTMLInputElement>("[data-acp-kernel-tools]");
  expect([box?.checked, box?.disabled]).toEqual([true, false]);
  box?.click();
  expect(made.emit).toHaveBeenLastCalledWith({ t: "tools", on: false });
  expect([box?.checked, box?.disabled]).toEqual([false, true]);
  made.patch(["set", "session", ["kernel_tools"], false]);
  expect([box?.checked, box?.disabled]).toEqual([false, false]);
});

test("a session without the kernel's tools has no switch for them", async () => {
  expect((await withSettings({})).find("[data-acp-kernel-tools]")).toBeNull();
});

test("a refused setting goes back to its old value", async () => {
  const made = await withSettings({ config: [MODEL] });
  wired(made);
  const select = made.find<HTMLSelectElement>("[data-acp-config='model']");
  choose(select, "max");
  made.store.receive({ t: "refused", what: "no" });
  made.frames.draw();
  expect([select?.value, select?.disabled]).toEqual(["mini", false]);
  expect(made.find(".acp-banner")?.textContent).toContain("Not done: no");
});

test("modes are shown without options", () => {
  const modes = [
    { id: "ask", name: "Ask" },
    { id: "plan", name: "Plan" },
  ];
  const { find, emit } = shown([turn()], null, { mode: "ask", modes });
  choose(find<HTMLSelectElement>("[data-acp-mode]"), "plan");
  expect(emit).toHaveBeenLastCalledWith({ t: "mode", mode: "plan" });
  const option = { ...MODEL, id: "mode", category: "mode" };
  const other = shown([turn()], null, { mode: "ask", modes, config: [option] });
  expect(other.el.querySelectorAll("select").length).toBe(1);
});

test("a dead agent: why, its last output, and how to restart it", () => {
  const made = shown([turn({ status: "failed", error: "died" })], "t1", {
    status: "dead",
    detail: "exit code 3\nits last words on stderr:\n  boom",
  });
  wired(made);
  const trouble = made.find("[data-acp-trouble='dead']");
  expect(trouble?.textContent).toContain("Exit code 3");
  expect(trouble?.querySelector("pre")?.textContent).toContain("boom");
  const button = made.find<HTMLButtonElement>("[data-acp-restart]");
  button?.click();
  expect(made.emit).toHaveBeenLastCalledWith({ t: "restart" });
  expect(button?.disabled).toBe(true);
  made.patch(["set", "session", ["status"], "restarting"]);
  expect(made.find("[data-acp-trouble]")?.dataset["acpTrouble"]).toBe("restarting");
  made.patch(["set", "session", ["status"], "idle"]);
  expect(made.find("[data-acp-trouble]")).toBeNull();
});

test("a lost session: why, and the available ways to continue", () => {
  const detail = "session/prompt: Session not found\nsession.reopen() loads it again";
  const made = shown([turn({ status: "failed", error: "lost" })], null, {
    status: "lost",
    detail,
    ways: ["load", "new"],
  });
  wired(made);
  const trouble = made.find("[data-acp-trouble='lost']");
  expect(trouble?.textContent).toContain("Session not found");
  expect(trouble?.textContent).not.toContain("session.reopen");
  made.find<HTMLButtonElement>("[data-acp-reopen='load']")?.click();
  expect(made.emit).toHaveBeenLastCalledWith({ t: "reopen", new: false });
  expect(made.find<HTMLButtonElement>("[data-acp-reopen='new']")?.disabled).toBe(true);
  made.patch(["set", "session", ["status"], "idle"]);
  expect(made.find("[data-acp-trouble]")).toBeNull();
  const none = shown([turn()], null, { status: "lost", ways: ["new"] });
  expect(none.find("[data-acp-reopen='load']")).toBeNull();
  none.find("[data-acp-reopen='new']")?.click();
  expect(none.emit).toHaveBeenLastCalledWith({ t: "reopen", new: true });
});

test("a failed start says what to do, outside the scroll area", () => {
  const detail = "it exited\nit printed on stderr:\n  no key\nhint: give it its <key>";
  const { find } = shown([turn()], null, { status: "dead", detail });
  expect(find("[data-acp-trouble] pre")?.textContent).toBe("it printed on stderr:\n  no key");
  expect(find("[data-acp-hint]")?.textContent).toBe("What to do: give it its <key>");
});

test("a turn that never started says so, with the agent's trouble while it is the newest", () => {
  const items = [turn({ status: "failed" })];
  const detail = "it exited\nhint: none";
  const { store, frames, find } = shown(items, "t2", { status: "dead", detail });
  expect(find("[data-acp-status]")?.textContent).toContain("Waiting for the previous turn");
  expect(find("[data-acp-trouble]")).toBeNull();
  store.receive(now([], null, ["t2"]));
  frames.draw();
  expect(find("[data-acp-status='unsent']")?.textContent).toBe("This prompt was not sent.");
  expect(find("[data-acp-trouble]")?.textContent).toContain("It exited");
  store.receive(now([], null, ["t2", "t10"]));
  frames.draw();
  expect(find("[data-acp-trouble]")).toBeNull();
});

test("a turn that is not the newest does not show the agent's trouble; a lost kernel hides it", () => {
  const later = turn({ key: "k9", turn: "k9", id: "t2", number: 2, status: "failed" });
  const items = [turn({ status: "done" }), later];
  expect(shown(items, "t1", { status: "dead" }).find("[data-acp-trouble]")).toBeNull();
  const { find, store, frames } = shown(items, "t2", { status: "dead" });
  expect(find("[data-acp-trouble]")).not.toBeNull();
  store.setLink("gone");
  frames.draw();
  expect(find("[data-acp-trouble]")).toBeNull();
});

test("the newest turns of a long conversation are drawn, and more on demand", async () => {
  const turns = Array.from({ length: NEWEST_TURNS + 5 }, (_, at) =>
    turn({ key: `t${at}`, turn: `t${at}`, id: `t${at}`, number: at + 1, status: "done" }),
  );
  const { el, find } = shown(turns, null);
  const drawn = () => el.querySelectorAll(".acp-turn").length;
  expect(drawn()).toBe(TURNS_AT_ONCE); // the others in the next frames
  expect(find(`[data-acp-turn='t${NEWEST_TURNS + 4}']`)).not.toBeNull();
  await soon(() => expect(drawn()).toBe(NEWEST_TURNS));
  expect(find("[data-acp-turn='t0']")).toBeNull();
  find("[data-acp-earlier]")?.click();
  await soon(() => expect(drawn()).toBe(NEWEST_TURNS + 5));
  expect(find("[data-acp-earlier]")).toBeNull();
});

test("the newest part of a long turn is drawn", async () => {
  const items = Array.from({ length: NEWEST + 3 }, (_, at) => message(`m${at}`, `${at}`));
  const { el, find } = shown([turn(), ...items]);
  const drawn = () => el.querySelectorAll(".acp-message").length;
  expect(drawn()).toBe(AT_ONCE); // the others in the next frames: none is long
  await soon(() => expect(drawn()).toBe(NEWEST));
  expect(find(".acp-message")?.textContent).toBe("3");
  find("[data-acp-earlier]")?.click();
  await soon(() => expect(drawn()).toBe(NEWEST + 3));
  expect(find(".acp-message")?.textContent).toBe("0");
});

test("what the agent is doing now", () => {
  const read = tool({ kind: "read", title: "Read a.py", status: "in_progress" });
  const cases: [Item[], string | null][] = [
    [[], null],
    [[message("m", "hm", "thought")], "Thinking"],
    [[message("m", "so")], "Writing"],
    [[read, message("m", "so")], "Read a.py"],
    [[read, tool({ key: "k6", title: "`make`", status: "in_progress" })], "make and 1 more"],
    [[read, tool({ key: "k6", title: "Later", status: "pending" })], "Read a.py"],
    [[tool({ status: "completed" })], null],
  ];
  for (const [items, said] of cases) expect(activityOf(items, "/w")).toBe(said);
});

test("the status line says it, with the time; screen readers get only the status", () => {
  vi.useFakeTimers({ now: 100_000 });
  try {
    const { find, store, frames, patch } = shown([turn(), message("m", "so")]);
    store.receive(now([], 65));
    frames.draw();
    const status = find(".acp-status");
    expect(status?.querySelector("[role=status]")?.textContent).toBe("Working");
    expect(status?.querySelector(".acp-activity")?.textContent).toBe("Writing");
    expect(status?.querySelector(".acp-elapsed")).not.toBeNull();
    patch(["set", "k1", ["status"], "done"]);
    expect(find(".acp-elapsed")).toBeNull();
  } finally {
    vi.runOnlyPendingTimers(); // effects that wait for a frame
    vi.useRealTimers();
  }
});

test("the status line leads to a question that is out of view", async () => {
  const watched: [Element, IntersectionObserverCallback][] = [];
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(private readonly seen: IntersectionObserverCallback) {}
      observe(el: Element) {
        watched.push([el, this.seen]);
      }
      unobserve() {}
      disconnect() {}
    },
  );
  const { find } = shown([turn(), question()]);
  const see = async (isIntersecting: boolean) => {
    for (const [target, seen] of watched)
      if (target === find(".acp-question"))
        seen(
          [
            {
              isIntersecting,
              target,
              intersectionRect: new DOMRect(0, 0, 9, isIntersecting ? 9 : 0),
              boundingClientRect: new DOMRect(0, 0, 9, 9),
            } as unknown as IntersectionObserverEntry,
          ],
          {} as never,
        );
    await settled();
  };
  const ofQuestion = () => watched.filter(([el]) => el === find(".acp-question"));
  await soon(() => expect(ofQuestion().length).toBe(2)); // its place, and the status line
  await see(true);
  expect(find("[data-acp-to-question]")).toBeNull();
  expect(find(".acp-status")?.dataset.sticky).toBe("false"); // it would cover the answers
  await see(false);
  expect(find(".acp-status")?.dataset.sticky).toBe("true");
  const box = find(".acp-question");
  find("[data-acp-to-question]")?.click();
  expect(document.activeElement).toBe(box);
});

test("a question is announced", () => {
  const { find, patch } = shown([turn(), tool(), question({ tool: "k5" })]);
  expect(find("[aria-live=assertive]")?.textContent).toBe(
    "The agent asks for permission: Edit sum.py. 1 allows once, 2 rejects.",
  );
  patch(["set", "k7", ["status"], "answered"]);
  expect(find("[aria-live=assertive]")?.textContent).toBe("");
});

test("times and amounts are formatted for people", () => {
  expect([0, 59_000, 61_000, 3_700_000].map(duration)).toEqual([
    "0 s",
    "59 s",
    "1 min 1 s",
    "1 h 1 min",
  ]);
  expect([999, 1000, 1500, 53_000, 2_000_000].map(short)).toEqual([
    "999",
    "1k",
    "1.5k",
    "53k",
    "2M",
  ]);
  expect(money({ amount: 0.0421, currency: "USD" })).toBe("$0.0421");
  expect(money({ amount: 3, currency: "CHF" })).toBe("3.00 CHF");
});
