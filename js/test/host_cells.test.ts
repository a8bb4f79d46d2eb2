import { expect, test } from "vitest";
import { cellsOf } from "../src/host_cells";

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

test("a code cell is run through its output area", async () => {
  const mine = notebook(SHARED);
  const future = { done: Promise.resolve({ content: { status: "ok", execution_count: 3 } }) };
  const prompts: string[] = [];
  const area = { future: null as unknown };
  Object.assign(mine.widgets[2] as object, {
    outputArea: area,
    setPrompt: (prompt: string) => prompts.push(prompt),
  });
  const requests: unknown[] = [];
  const kernel = {
    requestExecute: (...request: unknown[]) => {
      requests.push(request);
      return future;
    },
  };
  const found = await cellsOf(page(mine.view), ["turn"], SHARED);
  expect(await found?.execute("code", "1", kernel)).toEqual({ status: "ok", execution_count: 3 });
  expect(area.future).toBe(future);
  expect(prompts).toEqual(["*"]);
  const content = { code: "1", stop_on_error: true, allow_stdin: true };
  expect(requests).toEqual([[content, false, { cellId: "code" }]]);
  await expect(found?.execute("a", "1", kernel)).rejects.toThrow("does not show");
});
