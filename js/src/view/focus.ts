// Keyboard focus, and what is in sight. A question takes the focus when it is not in use, and gives it back
// afterwards.

/** What is in a frame is not known: it may be a field. */
const EDITABLE =
  "input, textarea, select, iframe, [contenteditable]:not([contenteditable='false'])";

/** Whether the user is typing anywhere in the page. */
export function isTyping(): boolean {
  return focused()?.matches(EDITABLE) ?? false;
}

/** The focused element; null if it is the page itself. */
export function focused(): HTMLElement | null {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active instanceof HTMLElement && active !== document.body ? active : null;
}

/** Enough of an element to recognise it. */
const ENOUGH_PX = 80;

/** Whether at least its beginning is visible. */
export function inSight(el: HTMLElement): boolean {
  const { top, height } = el.getBoundingClientRect();
  const seen = visiblePart(el);
  return seen.top <= top + 1 && seen.bottom - top >= Math.min(height, ENOUGH_PX) - 1 && height > 0;
}

/** Whether some of it is visible, with or without its beginning: what is out of sight must not react to keys. */
export function isPartlyInSight(el: HTMLElement): boolean {
  const { height } = el.getBoundingClientRect();
  const { top, bottom } = visiblePart(el);
  return height > 0 && bottom - top >= Math.min(height, ENOUGH_PX) - 1;
}

/** Which part of it the window and the elements around it leave visible. */
function visiblePart(el: HTMLElement): { top: number; bottom: number } {
  const own = el.getBoundingClientRect();
  let [top, bottom] = [Math.max(own.top, 0), Math.min(own.bottom, innerHeight)];
  // The body of a page that does not scroll may have no height.
  for (let at = el.parentElement; at && at !== document.body; at = at.parentElement) {
    if (!["auto", "scroll", "hidden"].includes(getComputedStyle(at).overflowY)) continue;
    const around = at.getBoundingClientRect();
    top = Math.max(top, around.top);
    bottom = Math.min(bottom, around.bottom);
  }
  return { top, bottom };
}
