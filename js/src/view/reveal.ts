// Draws what is to be shown although it is not among the newest turns and entries, a few more in each frame.

import { createContext } from "preact";
import { useContext, useEffect } from "preact/hooks";
import { inFrame } from "../frame_schedule";

/** A place in the conversation. */
export interface Target {
  /** The key of the turn; empty before the first. */
  readonly turn: string;
  /** The key of the entry; null: the prompt. */
  readonly entry: string | null;
}

export const TargetContext = createContext<Target | null>(null);

/** The place to show, or null. */
export function useTarget(): Target | null {
  return useContext(TargetContext);
}

/** Has at least the last `total - at` drawn, `step` more in each frame; nothing to do if `at` is negative. */
export function useReach(
  at: number,
  total: number,
  count: number,
  step: number,
  setCount: (count: number) => void,
): void {
  useEffect(() => {
    if (at < 0 || total - at <= count) return;
    return inFrame(() => setCount(Math.min(total - at, count + step)));
  }, [at, total, count]);
}
