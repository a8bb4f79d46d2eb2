// Outputs of a shared notebook: no widget's type, and whether a turn in the file was still running.

import { expect, test } from "vitest";
import { isUnfinished, keepWidgetOut } from "../../lab/src/transcripts";
import { NOTE, WIDGET_VIEW } from "../../src/document";
import { TRANSCRIPT } from "../../src/static";

test("an output of ours gets the transcript's type and a note", () => {
  const shows = { session: "s1", turn: "t1", transcript: "{}" };
  const view = { version_major: 2, model_id: "m1", [NOTE]: shows };
  const content = { data: { [WIDGET_VIEW]: view, "text/plain": "<turn t1>" }, metadata: { a: 1 } };
  keepWidgetOut(content);
  expect(Object.keys(content.data)).toEqual(["text/html", "text/plain", TRANSCRIPT]);
  expect(content.metadata).toEqual({
    a: 1,
    [NOTE]: { model_id: "m1", session: "s1", turn: "t1" },
  });
});

test("other widgets stay", () => {
  const content = { data: { [WIDGET_VIEW]: { model_id: "m2" } }, metadata: {} };
  const before = structuredClone(content);
  keepWidgetOut(content);
  expect(content).toEqual(before);
});

test("a turn that was running when it was written is unfinished", () => {
  const line = (status: string) => JSON.stringify({ items: [{ type: "turn", status }] });
  expect([isUnfinished(line("running")), isUnfinished(line("done"))]).toEqual([true, false]);
  expect(isUnfinished(["{}", line("done"), line("running")])).toBe(true);
  expect([isUnfinished("not JSON"), isUnfinished(undefined)]).toEqual([false, false]);
});
