// Keyboard focus. A question takes it when it is not in use, and gives it back afterwards.

const EDITABLE = "input, textarea, select, [contenteditable]:not([contenteditable='false'])";

/** Whether the user is typing anywhere in the page. */
export function isTyping(): boolean {
  return focused()?.matches(EDITABLE) ?? false;
}

/** The focused element; null if it is the page itself. */
export function focused(): HTMLElement | null {
  const active = document.activeElement;
  return active instanceof HTMLElement && active !== document.body ? active : null;
}

/** Enough of an element to recognise it. */
const ENOUGH_PX = 80;

/** Whether at least its beginning is visible: what is out of sight must not react to keys. */
export function inSight(el: HTMLElement): boolean {
  const { top, bottom, height } = el.getBoundingClientRect();
  const seen = (from: number, to: number) => top >= from && Math.min(bottom, top + ENOUGH_PX) <= to;
  if (height === 0 || !seen(0, innerHeight)) return false;
  // The body of a page that does not scroll may have no height.
  for (let at = el.parentElement; at && at !== document.body; at = at.parentElement) {
    if (!["auto", "scroll", "hidden"].includes(getComputedStyle(at).overflowY)) continue;
    const around = at.getBoundingClientRect();
    if (!seen(around.top - 1, around.bottom + 1)) return false;
  }
  return true;
}
