import { expect, test } from "vitest";
import { ErrorButtons } from "../../lab/src/error_buttons";
import type { NotebookPanel } from "../../lab/src/host";

test("the setting shows and removes the buttons that there are", async () => {
  const signal = { connect: () => undefined };
  const output = { type: "error", toJSON: () => ({ ename: "NameError", evalue: "x" }) };
  document.body.innerHTML = '<div><div class="jp-Cell-outputWrapper"></div></div>';
  const cell = {
    node: document.body.firstElementChild,
    isDisposed: false,
    model: { outputs: { length: 1, get: () => output, changed: signal } },
  };
  const notebook = {
    disposed: signal,
    content: { widgets: [cell] },
    context: { ready: Promise.resolve(), model: { cells: { changed: signal } } },
  } as unknown as NotebookPanel;
  let on = true;
  const asked: unknown[] = [];
  const buttons = new ErrorButtons(
    (...what) => asked.push(what),
    () => on,
  );
  buttons.watch(notebook);
  await Promise.resolve().then(() => undefined);
  const present = () => document.querySelector<HTMLButtonElement>("[data-acp-lab=ask-error]");
  present()!.click();
  expect(asked).toEqual([[notebook, cell]]);
  on = false;
  buttons.update();
  expect(present()).toBeNull();
  on = true;
  buttons.update();
  expect(present()).not.toBeNull();
});
