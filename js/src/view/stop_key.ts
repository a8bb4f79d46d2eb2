// Escape stops the turn. Where something is written it has to be pressed twice.

import { useEffect, useState } from "preact/hooks";
import { isComposing } from "./composing";
import { usePanel } from "./panel";

/** How long the second press is waited for. */
const AGAIN_MS = 4000;

/** Fields, and what Escape closes. */
const FIELDS = "input:not([type=checkbox], [type=radio]), textarea";
const CLOSES = "select, [role=menu], [role=listbox], [role=dialog], [role=search], [popover]";

export interface StopKey {
  onKeyDown: (event: KeyboardEvent & { currentTarget: HTMLElement }) => void;
  /** Somebody writes on. */
  onInput: () => void;
  /** What to press, while a second press is waited for. */
  readonly note: string;
}

/** `turn`: the id of the turn that can be stopped; null if there is none. */
export function useStopKey(turn: string | null): StopKey {
  const { link, emit } = usePanel();
  const [asking, setAsking] = useState(false);
  const usable = turn !== null && link === "live";
  useEffect(() => {
    if (!asking) return;
    const timer = setTimeout(() => setAsking(false), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [asking]);
  useEffect(() => setAsking(false), [turn]);
  const onKeyDown: StopKey["onKeyDown"] = (event) => {
    if (event.key !== "Escape") return setAsking(false);
    const { target, currentTarget } = event;
    const closes = target instanceof Element && target.closest(CLOSES);
    const modified = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
    if (!usable || event.defaultPrevented || event.repeat || modified || closes) return;
    if (isComposing(event)) return;
    event.preventDefault();
    event.stopPropagation();
    const sure = asking || !isWritten(currentTarget);
    setAsking(!sure);
    if (sure) emit({ t: "cancel", turn });
  };
  return {
    onKeyDown,
    onInput: () => setAsking(false),
    note: asking && usable ? "Press Esc again to stop the turn." : "",
  };
}

/** Whether a field in it has text. */
function isWritten(root: HTMLElement): boolean {
  const fields = root.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(FIELDS);
  return [...fields].some((it) => !it.disabled && it.value.trim() !== "");
}
