// Scrolls to a cell of the host's notebook and highlights it for a moment. The only code that touches the host's
// elements.

/** How long a cell is highlighted. */
export const SHOWN_MS = 1800;
/** A windowed notebook renders only nearby cells: scroll to where the cell should be and look again, this often. */
const TRIES = 8;

/** Cells get their real heights only when they come near, so the position is corrected for this many frames. */
const SETTLE_FRAMES = 12;

/** Any of these means that the user wants to be elsewhere: stop correcting. */
const USER_INPUT = ["wheel", "pointerdown", "keydown"] as const;

const REVEALED = "acp-revealed";

let settling: AbortController | null = null;

/** The notebook around a view; for a view outside of one ("Create New View"), the visible notebook. */
export function cellNodes(from: Element): Element | null {
  const own = from.closest(".jp-Notebook");
  if (own) return own;
  const all = [...document.querySelectorAll(".jp-Notebook")];
  return all.find((it) => it.getClientRects().length > 0) ?? null;
}

/** Returns whether there is a notebook to show it in. */
export function reveal(notebook: Element | null, index: number): boolean {
  if (!notebook) return false;
  look(notebook, index, TRIES);
  return true;
}

/** What the user is asked or told in a view, and must not overlook. */
const WANTED =
  "[data-acp-question]:is([data-status='open'], [data-status='elsewhere']), [data-acp-trouble], [data-acp-signin]";

/** Shows one of our views in the notebook, and gives it the focus; from an element in the same page. */
export function revealView(view: Element, from: Element): void {
  if (!view.isConnected) {
    // A windowed notebook has taken the cell out of the page, with everything in it.
    const cell = view.closest<HTMLElement>(".jp-Cell");
    if (cell) reveal(cellNodes(from), placeOf(cell, []));
    return;
  }
  const target = view.querySelector<HTMLElement>(WANTED) ?? (view as HTMLElement);
  highlight(target);
  if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

function look(notebook: Element, index: number, tries: number): void {
  const cells = [...notebook.querySelectorAll<HTMLElement>(".jp-Cell")];
  const cell = cells.find((it) => placeOf(it, cells) === index);
  if (cell) return highlight(cell);
  if (tries === 0) return;
  const scroller = notebook.querySelector(".jp-WindowedPanel-outer") ?? notebook;
  const [first, last] = [cells[0], cells.at(-1)];
  if (first && last) {
    const [from, to] = [placeOf(first, cells), placeOf(last, cells)];
    const each = scroller.scrollHeight / Math.max(index + 1, to + 1);
    scroller.scrollTop += index < from ? (index - from - 1) * each : (index - to + 1) * each;
  }
  requestAnimationFrame(() => requestAnimationFrame(() => look(notebook, index, tries - 1)));
}

/** The index of a cell in the notebook, which may not have all its cells in the page. */
function placeOf(cell: HTMLElement, all: readonly HTMLElement[]): number {
  const index = Number(cell.dataset["windowedListIndex"] ?? Number.NaN);
  return Number.isInteger(index) ? index : all.indexOf(cell);
}

function highlight(cell: HTMLElement): void {
  settling?.abort();
  const now = (settling = new AbortController());
  for (const event of USER_INPUT)
    addEventListener(event, () => now.abort(), {
      capture: true,
      passive: true,
      signal: now.signal,
    });
  scrollTo(cell, SETTLE_FRAMES, now);
  cell.classList.remove(REVEALED);
  void cell.offsetWidth; // restarts the animation
  cell.classList.add(REVEALED);
  setTimeout(() => cell.classList.remove(REVEALED), SHOWN_MS);
}

/** Instantly: smooth scrolling would miss where heights are estimates. */
function scrollTo(cell: HTMLElement, frames: number, now: AbortController): void {
  if (now.signal.aborted) return;
  const tall = cell.getBoundingClientRect().height > innerHeight / 2;
  cell.scrollIntoView({ block: tall ? "start" : "center", behavior: "instant" });
  if (frames > 1) requestAnimationFrame(() => scrollTo(cell, frames - 1, now));
  else now.abort();
}
