import { expect, test } from "vitest";
import { minimalBundle, TRANSCRIPT, turnOf, WHOLE_CHARS, wholeBundle } from "../src/static";
import { groupTurns } from "../src/turns";
import type { Bundle, StaticMessage } from "../src/types";
import { message, turn } from "./helpers";

const turns = groupTurns([turn(), message("k2", "<script>alert('x')</script> & so on")]);

test("a turn's prompt and text, escaped", () => {
  const bundle = minimalBundle(turns, "t1");
  expect(bundle["text/plain"]).toContain("Prompt: Fix it");
  expect(bundle["text/html"]).toContain(
    "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; so on",
  );
  expect(bundle["text/html"]).not.toContain("<script");
});

test("a turn that does not exist yet still has a text", () => {
  expect(minimalBundle(turns, "t9")["text/plain"]).toBe("Agent: nothing to show yet.");
  expect(minimalBundle(turns, null)).toEqual(minimalBundle(turns, "t1"));
});

function part(name: string, text = name): StaticMessage {
  const line = JSON.stringify({ acp_transcript: 2, name, text });
  const bundle: Bundle = {
    "text/html": `<p>${text}</p>`,
    "text/plain": text,
    [TRANSCRIPT]: line,
  };
  return {
    t: "static",
    seq: 1,
    turn: name,
    bundle,
    reference: `<p>see ${name}</p>`,
    parts: [],
    places: [],
  };
}

const CONTINUE = "<p><small>Run this cell to continue.</small></p>";
const head = JSON.stringify({ acp_transcript: 2, parts: ["t1", "t2"] });

function session(...parts: string[]): StaticMessage {
  const bundle = { "text/html": "<p>nothing</p>", "text/plain": "x", [TRANSCRIPT]: head };
  return { ...part("session"), bundle, parts };
}

const other = (name: string): Bundle => ({
  "text/html": `<p>${name}?</p>`,
  "text/plain": `${name}?`,
});

test("a session holds its turns, in order", () => {
  const whole = wholeBundle(session("t1", "t2"), (name) => part(name), other, new Set());
  expect(whole["text/html"]).toBe(`<p>t1</p>\n<p>t2</p>${CONTINUE}`);
  expect(whole["text/plain"]).toBe("t1\n\nt2");
  expect(whole[TRANSCRIPT]).toEqual([
    head,
    part("t1").bundle[TRANSCRIPT],
    part("t2").bundle[TRANSCRIPT],
  ]);
});

test("a session refers to turns that the file has elsewhere", () => {
  const [some, all] = [["t2"], ["t1", "t2"]].map((elsewhere) =>
    wholeBundle(session("t1", "t2"), (name) => part(name), other, new Set(elsewhere)),
  );
  expect(some?.["text/html"]).toBe(`<p>t1</p>\n<p>see t2</p>${CONTINUE}`);
  expect(some?.[TRANSCRIPT]).toEqual([head, part("t1").bundle[TRANSCRIPT]]);
  expect(all).toEqual({
    "text/html": `<p>see t1</p>\n<p>see t2</p>${CONTINUE}`,
    "text/plain": "A conversation with an agent.",
    [TRANSCRIPT]: head,
  });
});

test("a turn that the kernel has not sent is held as far as it is known here", () => {
  const whole = wholeBundle(session("t1"), () => undefined, other, new Set());
  expect(whole["text/html"]).toBe(`<p>t1?</p>${CONTINUE}`);
});

test("a session without turns is what the kernel sent", () => {
  expect(wholeBundle(session(), part, other, new Set())).toEqual(session().bundle);
});

test("of a session that is too long, the oldest turns are left out, and it says so", () => {
  const long = (name: string) => part(name, name + "x".repeat(WHOLE_CHARS / 8));
  const whole = wholeBundle(session("t1", "t2", "t3"), long, other, new Set());
  expect(whole["text/html"]).toMatch(/^<p>… 1 earlier turns left out here/);
  expect(whole["text/html"]).toContain("<p>t3");
});

test("the turn of a saved transcript", () => {
  expect(turnOf(part("t1").bundle[TRANSCRIPT])).toBe("t1");
  expect(turnOf(head)).toBeNull();
  expect(turnOf([head, "x"])).toBeNull();
  for (const none of [
    undefined,
    null,
    1,
    "",
    "{",
    "null",
    "{}",
    [],
    { acp_transcript: 1, items: [] },
  ])
    expect(turnOf(none)).toBeUndefined();
});
