// What the widgets of a page tell an extension of the host (js/lab): which sessions there are, how to show them,
// and which views they have below cells. Without an extension nobody reads it. The symbol has the version of this
// interface: another version is another symbol.

import type { RenderProps } from "@anywidget/types";
import type { Snapshot } from "./store";
import type { DocIntent, DocRequest, Emit, Place } from "./types";

const SHELL = Symbol.for("acp_notebook.shell.1");

/** Draws the view, until the signal. */
export type Draw = (el: HTMLElement, signal: AbortSignal) => void;

/** Draws a turn, or the panel (null), until the signal. `modelId`: the model of the widget that is shown there. */
export type Mount = (
  turn: string | null,
  el: HTMLElement,
  signal: AbortSignal,
  modelId: string,
  page?: PageHost,
  /** Nothing of the file shows this view: it is in a view of another session, or in the side panel. */
  inside?: boolean,
) => void;

/** What anywidget gives to a view: access to other widgets. */
export type PageHost = RenderProps["host"];

/** A session of a kernel, as the page has it. */
export interface PageSession {
  /** The id of its model. */
  readonly id: string;
  /** The widget manager, whose `context` is the open document. */
  readonly manager: unknown;
  readonly store: {
    readonly snapshot: Snapshot;
    subscribe(listener: (snapshot: Snapshot) => void): () => void;
    /** Which cells keep it in the file. */
    places(): Place[];
  };
  readonly emit: Emit;
  readonly mount: Mount;
}

/** Agents to choose from; not part of a session yet. */
export interface PagePicker {
  readonly id: string;
  readonly manager: unknown;
  /** The source of the cell that would show the session; empty until one was started. */
  readonly source: () => string;
  readonly draw: (el: HTMLElement, signal: AbortSignal, page: PageHost) => void;
}

export interface Shell {
  readonly sessions: Map<string, PageSession>;
  readonly pickers: Map<string, PagePicker>;
  /** Whether an output with a transcript is drawn live. */
  renders?: boolean;
  /** The host's view of the notebook with this shared document. */
  notebook?: (shared: unknown) => unknown;
  /** Answers a request about another document of the page. */
  answerTab?: (request: DocRequest, send: (answer: DocIntent) => void) => void;
  /** Called when one of them came or went. */
  changed?: () => void;
  /** A panel below a cell is to be shown in the element, until the signal. */
  panel?: (session: string, el: HTMLElement, signal: AbortSignal, draw: Draw) => void;
}

export function shell(): Shell {
  const page = globalThis as { [SHELL]?: Shell };
  return (page[SHELL] ??= { sessions: new Map(), pickers: new Map() });
}

/** List it until the signal. */
export function announce<T extends { readonly id: string }>(
  list: Map<string, T>,
  it: T,
  signal: AbortSignal,
): void {
  list.set(it.id, it);
  shell().changed?.();
  signal.addEventListener("abort", () => {
    if (list.get(it.id) === it) list.delete(it.id);
    shell().changed?.();
  });
}
