// Whose the keyboard is. A question may take it when nobody uses it, and gives it back afterwards.

const EDITABLE = "input, textarea, select, [contenteditable]:not([contenteditable='false'])";

/** The user writes something, somewhere in the page. */
export function isTyping(): boolean {
  return focused()?.matches(EDITABLE) ?? false;
}

/** What has the focus; null if it is only the page itself. */
export function focused(): HTMLElement | null {
  const active = document.activeElement;
  return active instanceof HTMLElement && active !== document.body ? active : null;
}

/** As much of it as says what it is. */
const ENOUGH_PX = 80;

/** At least its beginning can be seen now: what is out of sight must not react to keys. */
export function inSight(el: HTMLElement): boolean {
  const { top, bottom, height } = el.getBoundingClientRect();
  const seen = (from: number, to: number) => top >= from && Math.min(bottom, top + ENOUGH_PX) <= to;
  if (height === 0 || !seen(0, innerHeight)) return false;
  // The body of a page that scrolls nowhere may have no height at all.
  for (let at = el.parentElement; at && at !== document.body; at = at.parentElement) {
    if (!["auto", "scroll", "hidden"].includes(getComputedStyle(at).overflowY)) continue;
    const around = at.getBoundingClientRect();
    if (!seen(around.top - 1, around.bottom + 1)) return false;
  }
  return true;
}
