import { expect, test } from "vitest";
import { minimalBundle } from "../src/static";
import { groupTurns } from "../src/turns";
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
