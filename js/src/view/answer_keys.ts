// Answers to a question by keys that are pressed in an empty composer, so that nobody has to leave it.

import { useLayoutEffect, useRef } from "preact/hooks";
import { isPartlyInSight } from "./focus";

/** Returns whether the key was for the question. */
type Handle = (event: KeyboardEvent) => boolean;

const handlers = new WeakMap<Element, Handle>();

/** Offer the keys of a question to the composer of its panel. */
export function useAnswerKeys(box: { readonly current: HTMLElement | null }, handle: Handle): void {
  const newest = useRef(handle);
  newest.current = handle;
  useLayoutEffect(() => {
    if (box.current) handlers.set(box.current, (event) => newest.current(event));
  }, []);
}

/** Give a key to the question of the panel around the field. With several in sight it is not clear which one is
    meant. */
export function answerFrom(field: HTMLElement, event: KeyboardEvent): boolean {
  const panel = field.closest(".acp-panel");
  const open =
    panel?.querySelectorAll<HTMLElement>("[data-acp-question][data-status='open']") ?? [];
  const seen = [...open].filter(isPartlyInSight);
  const [only] = seen;
  return only !== undefined && seen.length === 1 && (handlers.get(only)?.(event) ?? false);
}
