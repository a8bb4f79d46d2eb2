import { expect, test } from "vitest";
import type { Link } from "../src/store";
import type { Header, Item, TurnItem } from "../src/types";
import { sessionWords, turnWords } from "../src/view/state_words";
import { message, question, turn } from "./helpers";

const SIGN_IN = { methods: [] };
const said = (start: Partial<TurnItem>, items: Item[] = [], signIn = false, link: Link = "live") =>
  turnWords(turn(start), items, link, signIn);
const session = (header: Partial<Header>, start: TurnItem | null = null, items: Item[] = []) =>
  sessionWords({ key: "session", ...header }, "live", start && { key: start.key, start, items });

test("a running turn says whose move it is, and only work has a clock", () => {
  const answer = message("m", "so");
  expect(said({})).toEqual({ text: "Waiting for the agent", move: "agent", works: true });
  expect(said({}, [answer])).toEqual({ text: "Working", move: "agent", works: true });
  expect(said({}, [answer, question()])).toEqual({
    text: "Waiting for you",
    move: "you",
    works: false,
  });
  expect(said({}, [answer, question({ status: "settled" })]).text).toBe("Working");
  expect(said({ cancelling: true }, [question()]).text).toBe("Stopping…");
  expect(said({}, [answer], false, "gone").move).toBe("trouble");
});

test("a sign-in never counts as work", () => {
  const words = { text: "Waiting for you to sign in", move: "you", works: false };
  expect(said({}, [message("m", "Please run /login")], true)).toEqual(words);
  expect(session({ status: "signed_out", sign_in: SIGN_IN }, turn())).toEqual(words);
  expect(session({ status: "signed_out" })).toEqual(words);
});

test("a rate limit says until when", () => {
  const until = new Date(2026, 10, 17, 14, 5).getTime() / 1000;
  const { text, works } = said({
    rate_limit: { reason: "busy", attempt: 0, of: 0, until, wait: 60 },
  });
  expect(text).toMatch(/^Rate limited until (14|02):05/);
  expect(works).toBe(false);
  expect(said({ rate_limit: { reason: "busy", attempt: 0, of: 0 } }).text).toBe("Rate limited");
});

test("the header says of a running turn what its status line says", () => {
  for (const items of [[], [message("m", "so")], [question()]])
    expect(session({ status: "working" }, turn(), items)).toEqual(said({}, items));
});

test("a session without a running turn", () => {
  const words: [Partial<Header>, string][] = [
    [{}, "Starting…"],
    [{ status: "idle" }, "Ready"],
    [{ status: "restarting" }, "Restarting…"],
    [{ status: "dead", detail: "exit code 3\nboom" }, "The agent ended"],
    [{ status: "dead" }, "The agent ended"],
    [{ status: "lost" }, "The agent lost the session"],
    [{ status: "closed" }, "closed"],
  ];
  for (const [header, text] of words) expect(session(header).text).toBe(text);
  expect(sessionWords({ key: "session" }, "gone", null).text).toBe("Disconnected");
});

test("a remote agent is reconnected, also in a turn, and may stay away", () => {
  expect(session({ status: "reconnecting" }, turn()).text).toBe("Reconnecting…");
  expect(session({ status: "disconnected" })).toEqual({
    text: "Connection lost",
    move: "trouble",
    works: false,
  });
});
