import { expect, test } from "vitest";
import { undoingLastTurn } from "../../lab/src/summary";
import type { Snapshot } from "../../src/store";

const hunk = (id: string, more = {}) => ({ id, undone: false, ...more });
const file = (id: string, state: string, hunks: object[] = []) => ({
  id,
  state,
  undoable: true,
  hunks,
});
const turn = (key: string) => ({ type: "turn", key });
const changes = (key: string, ...files: object[]) => ({ type: "changes", turn: key, files });

const of = (...items: object[]) =>
  undoingLastTurn({ link: "live", state: { items } } as unknown as Snapshot);

test("of the last turn is undone what was neither kept nor undone", () => {
  const some = file("d", "applied", [
    hunk("1", { kept: true }),
    hunk("2"),
    hunk("3", { undone: true }),
  ]);
  const files = [file("a", "applied"), file("b", "kept"), file("c", "undone"), some];
  expect(of(turn("t1"), changes("t1", ...files))).toEqual([
    { t: "undo", turn: "t1", files: ["a"] },
    { t: "undo", turn: "t1", file: "d", hunk: "2" },
  ]);
});

test("no earlier turn is undone, whether the last one is undone or changed nothing", () => {
  const first = [turn("t1"), changes("t1", file("a", "applied"))];
  expect(of(...first, turn("t2"), changes("t2", file("b", "undone")))).toEqual([]);
  expect(of(...first, turn("t2"))).toEqual([]);
  expect(of()).toEqual([]);
});
