// Answers the question that the user sees, by a command. The question's own widget decides whether the answer counts, as
// for a key that is pressed in it (js/src/view/input_guard.ts); here is decided which question is meant, if any.

/** As for keys: longer than somebody who is typing takes to notice that something appeared. */
export const SEEN_MS = 600;

export type Meaning = "allow_once" | "reject";

const OPEN = "[data-acp-question][data-status='open']";

/** What became of a command: the question has it, or the user is told why not. */
export type Outcome =
  { readonly answered: true } | { readonly answered: false; readonly why: string };

export const HIDDEN = "The question is not in view. Look at it, then answer.";
export const NONE = "No agent asks anything here.";
export const SEVERAL = "Several questions are in view. Answer each with its buttons.";
export const NEW = "The question has just come into view. Read it, then answer.";

export class Questions {
  /** Since when each question has been in view without a break. */
  readonly #since = new Map<Element, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Look which questions are in view. Called often: what was not seen for a while begins anew. */
  look(): void {
    const seen = new Set(visible(document.querySelectorAll<HTMLElement>(OPEN)));
    for (const box of this.#since.keys())
      if (!seen.has(box as HTMLElement)) this.#since.delete(box);
    for (const box of seen) if (!this.#since.has(box)) this.#since.set(box, this.#now());
  }

  /** Give the answer to the only question in view within these elements. */
  answer(meaning: Meaning, within: readonly Element[]): Outcome {
    this.look();
    const inside = (box: Element) => within.some((root) => root.contains(box));
    const all = [...document.querySelectorAll<HTMLElement>(OPEN)].filter(inside);
    const [box, ...more] = all.filter((it) => this.#since.has(it));
    if (!box) return refused(all.length > 0 ? HIDDEN : NONE);
    if (more.length > 0) return refused(SEVERAL);
    if (this.#now() - (this.#since.get(box) ?? Infinity) < SEEN_MS) return refused(NEW);
    const key = box.querySelector(
      `button[data-meaning="${meaning}"]:not([disabled]) kbd`,
    )?.textContent;
    if (!key) return refused(`This question has no answer "${NAMES[meaning]}".`);
    box.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    return { answered: true };
  }
}

const NAMES = { allow_once: "allow once", reject: "reject" };

function refused(why: string): Outcome {
  return { answered: false, why };
}

/** Those whose beginning and buttons the user can see: in the window, and nothing is in front of them. */
function visible(boxes: Iterable<HTMLElement>): HTMLElement[] {
  if (document.visibilityState !== "visible" || !document.hasFocus()) return [];
  return [...boxes].filter((box) => {
    const safe = box.querySelector<HTMLElement>(".acp-safe");
    const title = box.querySelector<HTMLElement>(".acp-asks");
    return safe !== null && isInFront(safe, box) && (title === null || isInFront(title, box));
  });
}

function isInFront(el: HTMLElement, box: HTMLElement): boolean {
  const { left, top, width, height } = el.getBoundingClientRect();
  if (width === 0 || height === 0) return false;
  const found = document.elementFromPoint(left + Math.min(width / 2, 20), top + height / 2);
  return found !== null && box.contains(found);
}
