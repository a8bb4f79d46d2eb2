// Brings a cell of the host's notebook into sight, and sets it off for a moment. The only code that touches
// the host's elements; knows no document and no path.

/** How long a cell is set off: long enough to be found. */
export const SHOWN_MS = 1800;
/** A notebook that has only the cells near the window is scrolled to where the cell must be, and looked at
    again: so often. */
const TRIES = 8;

/** Cells on the way take their heights only when they come near: the cell is put right for so many frames. */
const SETTLE_FRAMES = 12;

/** Whoever does this while it is put right wants to be elsewhere. */
const BY_HAND = ["wheel", "pointerdown", "keydown"] as const;

const REVEALED = "acp-revealed";

let settling: AbortController | null = null;

/** The notebook that a view stands in; of one that stands elsewhere ("Create New View"), the one in sight. */
export function cellNodes(from: Element): Element | null {
  const own = from.closest(".jp-Notebook");
  if (own) return own;
  const all = [...document.querySelectorAll(".jp-Notebook")];
  return all.find((it) => it.getClientRects().length > 0) ?? null;
}

/** Whether there is a notebook to show it in. */
export function reveal(notebook: Element | null, index: number): boolean {
  if (!notebook) return false;
  look(notebook, index, TRIES);
  return true;
}

function look(notebook: Element, index: number, tries: number): void {
  const cells = [...notebook.querySelectorAll<HTMLElement>(".jp-Cell")];
  const cell = cells.find((it) => placeOf(it, cells) === index);
  if (cell) return setOff(cell);
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

/** Which cell of the notebook it is: it need not have them all in the page. */
function placeOf(cell: HTMLElement, all: readonly HTMLElement[]): number {
  const told = Number(cell.dataset["windowedListIndex"] ?? Number.NaN);
  return Number.isInteger(told) ? told : all.indexOf(cell);
}

function setOff(cell: HTMLElement): void {
  settling?.abort();
  const now = (settling = new AbortController());
  for (const operation of BY_HAND)
    addEventListener(operation, () => now.abort(), {
      capture: true,
      passive: true,
      signal: now.signal,
    });
  intoSight(cell, SETTLE_FRAMES, now);
  cell.classList.remove(REVEALED);
  void cell.offsetWidth; // begins anew
  cell.classList.add(REVEALED);
  setTimeout(() => cell.classList.remove(REVEALED), SHOWN_MS);
}

/** At once: a smooth way would miss, where heights are only guessed. */
function intoSight(cell: HTMLElement, frames: number, now: AbortController): void {
  if (now.signal.aborted) return;
  const tall = cell.getBoundingClientRect().height > innerHeight / 2;
  cell.scrollIntoView({ block: tall ? "start" : "center", behavior: "instant" });
  if (frames > 1) requestAnimationFrame(() => intoSight(cell, frames - 1, now));
  else now.abort();
}
