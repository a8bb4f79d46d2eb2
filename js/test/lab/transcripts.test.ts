// Outputs of a shared notebook: no widget's type, and whether a turn in the file was still running.

import { expect, test } from "vitest";
import { sessionCell } from "../../lab/src/session_cell";
import { isUnfinished, keepWidgetOut, liveOutput } from "../../lab/src/transcripts";
import { NOTE, WIDGET_VIEW } from "../../src/document";
import { shell } from "../../src/shell";
import type { PageSession } from "../../src/shell";
import { TRANSCRIPT, turnOf } from "../../src/static";

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

test("the cell of a session has no widget in a shared notebook", () => {
  const [output] = sessionCell("c1", "%acp_agent demo", "s1").outputs;
  keepWidgetOut(output!);
  expect(Object.keys(output!.data)).toEqual(["text/html", "text/plain", TRANSCRIPT]);
  expect(turnOf(output!.data[TRANSCRIPT])).toBe(null);
  expect(output!.metadata[NOTE]).toEqual({ model_id: "s1", session: "s1", turn: null });
});

test("a cell that is run again shows the new session's turn, though an earlier one has the same id", () => {
  const sessionNamed = (id: string) =>
    ({
      id,
      manager: { context: { model: { collaborative: true } } },
      store: { places: () => [{ cell: "c1", model: `m-${id}`, turn: "t1" }] },
    }) as unknown as PageSession;
  const [earlier, later] = [sessionNamed("s1"), sessionNamed("s2")];
  shell().sessions.clear();
  for (const session of [earlier, later]) shell().sessions.set(session.id, session);
  const data = { [TRANSCRIPT]: '{"acp_transcript":2,"name":"t1","items":[]}' };
  const cell = { model: { id: "c1", type: "code" } };
  const note = (session: string) => ({ [NOTE]: { model_id: `m-${session}`, session, turn: "t1" } });
  expect(liveOutput({ data, metadata: note("s2") }, cell)?.session).toBe(later);
  expect(liveOutput({ data, metadata: note("s1") }, cell)?.session).toBe(earlier);
  expect(liveOutput({ data, metadata: {} }, cell)?.session).toBe(later);
  expect(liveOutput({ data, metadata: note("unknown") }, cell)).toBe(null);
  shell().sessions.clear();
});
