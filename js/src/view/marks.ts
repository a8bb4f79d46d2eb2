// Finds a hit in the drawn conversation, opens what hides it, scrolls to it and marks it. Marks are the browser's
// own highlights, which change no element; where it has none, the item gets an outline.

/** The names of the highlights: all occurrences in the item, and the one that is shown. */
const ALL = "acp-find";
const ONE = "acp-find-one";

/** Marks an item in which the text is not drawn as it is stored, or where there are no highlights. */
const OUTLINE = "acp-found";

/** Parts of an item that are not its content. */
const CONTROLS = "button, .acp-codebar, .acp-hidden";

/** Heights are estimates until a part comes near: the position is corrected for this many frames. */
const SETTLE_FRAMES = 10;

/** Any of these means that the reader wants to be elsewhere. */
const USER_INPUT = ["wheel", "pointerdown"] as const;

let settling: AbortController | null = null;

/** Marks the occurrence in an item's element, and scrolls to it. */
export function mark(item: HTMLElement, pattern: RegExp, at: number): void {
  unmark();
  const ranges = rangesIn(item, pattern);
  const one = ranges[Math.min(at, ranges.length - 1)];
  const highlights = registry();
  if (one) openAround(one.startContainer, item);
  if (one && highlights) {
    highlights.set(ALL, new Highlight(...ranges));
    const shown = new Highlight(one);
    shown.priority = 1;
    highlights.set(ONE, shown);
  } else item.classList.add(OUTLINE);
  settle(() => scrollTo(one ?? item, item));
}

/** Removes all marks. */
export function unmark(): void {
  settling?.abort();
  const highlights = registry();
  if (highlights) for (const name of [ALL, ONE]) highlights.delete(name);
  for (const found of document.querySelectorAll(`.${OUTLINE}`)) found.classList.remove(OUTLINE);
}

/** The browser's highlights; null if it has none. */
function registry(): HighlightRegistry | null {
  return typeof CSS === "undefined" ? null : (CSS.highlights ?? null);
}

function settle(scroll: () => void): void {
  const now = (settling = new AbortController());
  const { signal } = now;
  for (const event of USER_INPUT)
    addEventListener(event, () => now.abort(), { capture: true, passive: true, signal });
  let frames = SETTLE_FRAMES;
  const step = () => {
    if (signal.aborted) return;
    scroll();
    if (--frames > 0) requestAnimationFrame(step);
    else now.abort();
  };
  step();
}

/** Moves it into sight in the item's own boxes and in the conversation; the page stays where it is. */
function scrollTo(found: Range | HTMLElement, item: HTMLElement): void {
  const near = found instanceof Range ? found.startContainer.parentElement : item;
  for (let box = near; box; box = box.parentElement) {
    const { top, bottom, height } = found.getBoundingClientRect();
    const view = box.getBoundingClientRect();
    const end = view.top + box.clientHeight;
    if (box.scrollHeight > box.clientHeight && (top < view.top || bottom > end) && scrolls(box))
      box.scrollTop += top - view.top - Math.max(0, (box.clientHeight - height) / 2);
    if (box.matches("[data-acp-scroll]")) return;
  }
}

function scrolls(box: HTMLElement): boolean {
  return /auto|scroll/.test(getComputedStyle(box).overflowY);
}

/** Opens what is folded around a text. */
function openAround(text: Node, item: HTMLElement): void {
  for (let at = text.parentElement; at && at !== item; at = at.parentElement)
    if (at instanceof HTMLDetailsElement) at.open = true;
}

/** Where the pattern matches the drawn text, which may go on from one element to the next. */
export function rangesIn(item: HTMLElement, pattern: RegExp): Range[] {
  const nodes: { node: Text; from: number }[] = [];
  let whole = "";
  const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node as Text;
    if (text.parentElement?.closest(CONTROLS)) continue;
    nodes.push({ node: text, from: whole.length });
    whole += text.data;
  }
  let last = 0;
  return [...whole.matchAll(pattern)].map((found) => {
    const [from, to] = [found.index, found.index + found[0].length];
    while (last + 1 < nodes.length && (nodes[last + 1]?.from ?? 0) <= from) last++;
    let end = last;
    while (end + 1 < nodes.length && (nodes[end + 1]?.from ?? 0) < to) end++;
    const range = document.createRange();
    const [first, final] = [nodes[last], nodes[end]];
    if (first && final) {
      range.setStart(first.node, from - first.from);
      range.setEnd(final.node, to - final.from);
    }
    return range;
  });
}
