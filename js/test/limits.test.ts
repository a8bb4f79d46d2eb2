import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { now, turn } from "./helpers";
import { shown, wired } from "./mounted";

beforeEach(() => {
  document.body.replaceChildren();
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => vi.useRealTimers());

const LIMITED = { reason: "429", wait: 20, until: 1020, attempt: 0, of: 0 };

test("a turn that exceeded a limit says which", () => {
  const { find, patch } = shown([turn({ limit: "more than 20 tool calls", cancelling: true })]);
  expect(find(".acp-status")?.textContent).toContain("Stopping: more than 20 tool calls");
  patch(["set", "k1", ["status"], "done"], ["set", "k1", ["stop_reason"], "cancelled"]);
  expect(find(".acp-status")?.textContent).toContain("Stopped: more than 20 tool calls");
  patch(["set", "k1", ["status"], "abandoned"]);
  expect(find(".acp-status")?.textContent).toContain("Abandoned: more than 20 tool calls");
});

test("a person who prompted or stopped is named as text, in quotation marks", () => {
  const hostile = "<b>you</b>\u202e";
  const { find } = shown([
    turn({ status: "done", stop_reason: "cancelled", person: hostile, stopped_by: hostile }),
  ]);
  expect(find(".acp-status")?.textContent).toMatch(/^Stopped by “<b>you<\/b>[^\u202e]*”/);
  expect(find(".acp-prompt")?.textContent).toContain("Prompt by “<b>you</b>");
  expect(find(".acp-turn b")).toBeNull();
});

test("a prompt that will be retried counts down, and can be stopped", () => {
  const { find, patch } = shown([turn({ rate_limit: { ...LIMITED, attempt: 1, of: 5 } })]);
  expect(find(".acp-status")?.textContent).toMatch(
    /^Rate limited until .*\d\d.*, then attempt 1 of 5/,
  );
  expect(find("[data-acp-countdown]")?.textContent).toBe("wait 20 s");
  expect(find<HTMLButtonElement>("[data-acp-stop]")?.disabled).toBe(false);
  expect(find("[data-acp-again]")).toBeNull();
  patch(["set", "k1", ["rate_limit"], null]);
  expect(find(".acp-status")?.textContent).not.toContain("Rate limit");
});

test("a turn that failed at a rate limit can be retried, once", () => {
  const made = shown([turn({ status: "failed", error: "rate limit", rate_limit: LIMITED })]);
  wired(made);
  expect(made.find("[data-acp-countdown]")?.textContent).toBe("wait 20 s");
  const again = () => made.find<HTMLButtonElement>("[data-acp-again]");
  again()?.click();
  expect(again()?.disabled).toBe(true);
  again()?.click();
  expect(made.emit.mock.calls).toEqual([[{ t: "again", turn: "t1" }]]);
  made.store.receive(now([], null));
  made.frames.draw();
  expect(again()?.disabled).toBe(false);
});

test("a slow clock does not make the wait longer; an expired wait shows none", () => {
  const far = shown([turn({ rate_limit: { ...LIMITED, until: 99_999 } })]);
  expect(far.find("[data-acp-countdown]")?.textContent).toBe("wait 20 s");
  const past = shown([turn({ rate_limit: { ...LIMITED, until: 5 } })]);
  expect(past.find("[data-acp-countdown]")).toBeNull();
});

test("the prompt of any failed turn can be sent again, while it is the newest", () => {
  const again = (...items: Parameters<typeof shown>[0]) =>
    shown(items, null).el.querySelectorAll("[data-acp-again]").length;
  expect(again(turn({ status: "failed", error: "no" }))).toBe(1);
  expect(again(turn({ status: "abandoned" }))).toBe(1);
  expect(again(turn({ status: "done" }))).toBe(0);
  const next = turn({ key: "k2", turn: "k2", id: "t2", number: 2 });
  expect(again(turn({ status: "failed", error: "no" }), next)).toBe(0);
  const asked_by = { agent: "boss", turn: 1, answerer: "me" };
  expect(again(turn({ status: "failed", error: "no", asked_by }))).toBe(0);
});
