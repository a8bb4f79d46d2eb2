// What the application around the panel (JupyterLab, Notebook) can do for it. Everything is optional.

import { createContext } from "preact";
import type { Json } from "../types";
import type { FileHost } from "./locations";

export interface PanelHost {
  /** Typesets the formulas in an element. */
  typeset?: (element: HTMLElement) => void;
  /** Inserts a cell with this source, and these outputs, below the panel's cell. */
  insert?: (source: string, language: string, outputs?: readonly Json[]) => void;
  /** Opens files. */
  files?: FileHost;
  /** Runs a command in a terminal that the user sees; returns the reason if it cannot. */
  terminal?: (command: string, from: Element) => Promise<string | null>;
  /** Notifications while the page is hidden; the browser remembers whether the user wants them. */
  notifications?: { state(): Notifying; set(on: boolean): Promise<Notifying> };
  /** Shows the panel of another session, by its model, in an element. */
  panel?: (model: string, el: HTMLElement, signal: AbortSignal) => Promise<void>;
  /** Shows one turn of another session, by its model, in an element. */
  turn?: (model: string, turn: string, el: HTMLElement, signal: AbortSignal) => Promise<void>;
  /** Whether the page has a widget for a turn of this session, which may be about to be drawn. */
  expects?: (turn: string) => boolean;
  /** Scrolls to a view below a cell, from an element of this one. */
  reveal?: (view: Element, from: Element) => void;
}

/** unsupported: the browser has none. blocked: it does not allow them for this page. */
export type Notifying = "on" | "off" | "unsupported" | "blocked";

export const HostContext = createContext<PanelHost>({});
