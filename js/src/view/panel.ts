// What every part of a panel may use, however deep it is nested.
//
// All of it changes rarely: a change redraws everything that uses it, memoised or not. What changes with every
// chunk is passed as properties instead, or has a context of its own (TerminalsById).

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Link, Sent } from "../store";
import type { Emit, Prefixes } from "../types";

export interface Panel {
  readonly emit: Emit;
  readonly link: Link;
  /** Whether the agent requires a sign-in. */
  readonly signIn: boolean;
  /** The session's working directory; empty until it is known. */
  readonly folder: string;
  /** What the server calls the kernel's folders; null if that is not known. */
  readonly places: Prefixes | null;
  /** Whether diffs are shown side by side. */
  readonly split: boolean;
}

/** What changes with every turn: few parts use it, so that a new turn does not redraw the old ones. */
export interface Activity {
  /** Whether a turn is running. */
  readonly running: boolean;
  /** The undo, redo or keep that the kernel is carrying out. */
  readonly operation: Sent | undefined;
  /** The key of the newest turn; null if the session is closed. */
  readonly newest: string | null;
}

/** Before the kernel has said anything. */
export const WAITING: Panel = {
  emit: () => undefined,
  link: "waiting",
  signIn: false,
  folder: "",
  places: null,
  split: false,
};

export const IDLE: Activity = { running: false, operation: undefined, newest: null };

export const PanelContext = createContext<Panel>(WAITING);

export const ActivityContext = createContext<Activity>(IDLE);

export function usePanel(): Panel {
  return useContext(PanelContext);
}

export function useActivity(): Activity {
  return useContext(ActivityContext);
}
