// A button below the output of each cell that failed.

import { errorOf } from "./cells";
import { button, element } from "./dom";
import type { Cell, NotebookPanel } from "./host";

export class ErrorButtons {
  /** What shows or removes the buttons of each notebook. */
  readonly #known = new Map<NotebookPanel, () => void>();
  readonly #cells = new WeakSet<Cell>();
  readonly #notes = new WeakMap<Cell, HTMLElement>();
  readonly #ask: (notebook: NotebookPanel, cell: Cell) => void;
  readonly #isOn: () => boolean;

  constructor(ask: (notebook: NotebookPanel, cell: Cell) => void, isOn: () => boolean) {
    this.#ask = ask;
    this.#isOn = isOn;
  }

  /** Watch the cells of a notebook, from now on. */
  watch(notebook: NotebookPanel): void {
    if (this.#known.has(notebook)) return;
    const sweep = () => {
      for (const cell of notebook.content.widgets) this.#watchCell(notebook, cell);
    };
    this.#known.set(notebook, () => {
      for (const cell of notebook.content.widgets) this.#update(notebook, cell);
    });
    notebook.disposed.connect(() => this.#known.delete(notebook));
    // The host makes its widgets for new cells after the model has changed.
    notebook.context.model.cells.changed.connect(() => requestAnimationFrame(sweep));
    notebook.content.activeCellChanged?.connect(sweep);
    void notebook.context.ready.then(sweep);
  }

  /** The setting has changed. */
  update(): void {
    for (const update of this.#known.values()) update();
  }

  #watchCell(notebook: NotebookPanel, cell: Cell): void {
    const { outputs } = cell.model;
    if (!outputs || this.#cells.has(cell)) return;
    this.#cells.add(cell);
    const update = () => this.#update(notebook, cell);
    outputs.changed.connect(update);
    // Cells that are far away are drawn later.
    void (cell.ready ?? Promise.resolve()).then(update);
  }

  #update(notebook: NotebookPanel, cell: Cell): void {
    if (cell.isDisposed) return;
    const failed = this.#isOn() && errorOf(cell) !== null;
    const present = this.#notes.get(cell);
    if (!failed) {
      present?.remove();
      this.#notes.delete(cell);
      return;
    }
    if (present?.isConnected) return;
    const ask = button("Ask the agent", () => this.#ask(notebook, cell), "ask-error");
    ask.title = "Send this cell, its error and its variables to the agent";
    const made = element("div", { class: "acp-lab-error" }, ask);
    const wrapper = cell.node.querySelector(".jp-Cell-outputWrapper");
    if (!wrapper) return;
    wrapper.after(made);
    this.#notes.set(cell, made);
  }
}
