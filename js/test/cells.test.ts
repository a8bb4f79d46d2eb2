import { expect, test } from "vitest";
import { cellsOf } from "../src/cells";

const SHARED = {};

function page(...views: object[]) {
  const models = new Map([
    ["panel", { views: {} }],
    ["turn", { views: Object.fromEntries(views.map((it, at) => [at, Promise.resolve(it)])) }],
  ]);
  return {
    has_model: (id: string) => models.has(id),
    get_model: (id: string) => Promise.resolve(models.get(id)),
  };
}

function notebook(sharedModel: unknown) {
  const cells = ["a", "b"].map((id) => ({ model: { id }, rendered: true }));
  const widgets = [...cells, { model: { id: "code" } }];
  const view = { luminoWidget: { parent: { parent: { widgets, model: { sharedModel } } } } };
  return { cells, view, widgets };
}

test("a cell of the notebook around one of our views is left unrendered", async () => {
  const [other, mine] = [notebook({}), notebook(SHARED)];
  const manager = page(other.view, {}, mine.view);
  const found = await cellsOf(manager, ["gone", "panel", "turn"], SHARED);
  found?.unrender("b");
  found?.unrender("code");
  found?.unrender("nowhere");
  expect(mine.cells.map(({ rendered }) => rendered)).toEqual([true, false]);
  expect(mine.widgets[2]).toEqual({ model: { id: "code" } });
  expect(other.cells.map(({ rendered }) => rendered)).toEqual([true, true]);
});

test("no view in it, no cells", async () => {
  expect(await cellsOf(page(notebook({}).view), ["panel", "turn"], SHARED)).toBeNull();
  expect(await cellsOf({}, ["turn"], SHARED)).toBeNull();
});
