// The host's view of the open notebook, reached from one of our widgets in it. The host renders markdown cells
// as soon as they exist; one with remote content must wait for the user. Works in JupyterLab 4 and
// Notebook 7; other hosts have no such view.

import { shell } from "./shell";

/** What we use of the host. */
interface HostWidget {
  readonly parent?: HostWidget | null;
  readonly widgets?: readonly HostCell[];
  readonly model?: { readonly sharedModel?: unknown } | null;
}

interface HostCell {
  readonly model?: { readonly id?: string; readonly type?: string };
  rendered?: boolean;
  /** Of a code cell. */
  readonly outputArea?: { future: Future };
  setPrompt?(prompt: string): void;
}

/** An execution in progress: the output area shows what it publishes. */
interface Future {
  readonly done: Promise<{ readonly content: Reply }>;
}

export interface Reply {
  readonly status: string;
  readonly execution_count?: number | null;
}

export interface Kernel {
  requestExecute(content: object, disposeOnDone: boolean, metadata: object): Future;
}

interface View {
  readonly luminoWidget?: HostWidget;
  readonly pWidget?: HostWidget;
}

interface Manager {
  has_model?(id: string): boolean;
  get_model?(id: string): Promise<{ readonly views?: Record<string, Promise<View>> }>;
}

export interface HostCells {
  /** Show this markdown cell as source until the user runs it. */
  unrender(id: string): void;
  /** Run this code cell; rejects if that is not possible, or if the kernel is restarted in the meantime. */
  execute(id: string, code: string, kernel: Kernel): Promise<Reply>;
}

/** null if none of these widgets is in a view of that document. */
export async function cellsOf(
  manager: unknown,
  models: Iterable<string>,
  shared: unknown,
): Promise<HostCells | null> {
  const { has_model, get_model } = manager as Manager;
  for (const id of models) {
    if (!get_model || !has_model?.call(manager, id)) continue;
    const { views = {} } = await get_model.call(manager, id);
    for (const view of await Promise.all(Object.values(views))) {
      const notebook = notebookAround(view.luminoWidget ?? view.pWidget, shared);
      if (notebook) return inside(notebook);
    }
  }
  const found = shell().notebook?.(shared) as HostWidget | undefined; // no widget of ours is in it
  return found ? inside(found) : null;
}

function inside(notebook: HostWidget): HostCells {
  return {
    unrender: (cell) => unrender(notebook, cell),
    execute: (cell, code, kernel) => execute(notebook, cell, code, kernel),
  };
}

function notebookAround(widget: HostWidget | undefined, shared: unknown): HostWidget | null {
  for (let at: HostWidget | null | undefined = widget; at; at = at.parent)
    if (Array.isArray(at.widgets) && at.model?.sharedModel === shared) return at;
  return null;
}

function unrender(notebook: HostWidget, id: string): void {
  const cell = notebook.widgets?.find(({ model }) => model?.id === id);
  if (cell?.rendered === true) cell.rendered = false;
}

async function execute(
  notebook: HostWidget,
  id: string,
  code: string,
  kernel: Kernel,
): Promise<Reply> {
  const cell = notebook.widgets?.find(({ model }) => model?.id === id);
  if (!cell?.outputArea) throw new Error(`the page does not show the cell ${id}`);
  cell.setPrompt?.("*");
  const content = { code, stop_on_error: true, allow_stdin: true };
  const future = kernel.requestExecute(content, false, { cellId: id });
  cell.outputArea.future = future;
  return (await future.done).content;
}
