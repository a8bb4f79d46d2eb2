// The host's own view of the open notebook, reached from a widget of ours that stands in it. Its markdown
// cells are rendered as soon as they are there; one with something from elsewhere in it must wait for the
// user. JupyterLab 4 and Notebook 7 have it; other hosts do not.

/** What we use of the host. */
interface HostWidget {
  readonly parent?: HostWidget | null;
  readonly widgets?: readonly HostCell[];
  readonly model?: { readonly sharedModel?: unknown } | null;
}

interface HostCell {
  readonly model?: { readonly id?: string };
  rendered?: boolean;
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
  /** Leave this markdown cell as it is written, until the user runs it. */
  unrender(id: string): void;
}

/** null: none of these widgets stands in a view of that document. */
export async function cellsOf(
  manager: unknown,
  models: Iterable<string>,
  shared: unknown,
): Promise<HostCells | null> {
  const { has_model, get_model } = manager as Manager;
  if (!has_model || !get_model) return null;
  for (const id of models) {
    if (!has_model.call(manager, id)) continue;
    const { views = {} } = await get_model.call(manager, id);
    for (const view of await Promise.all(Object.values(views))) {
      const notebook = notebookAround(view.luminoWidget ?? view.pWidget, shared);
      if (notebook) return { unrender: (cell) => unrender(notebook, cell) };
    }
  }
  return null;
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
