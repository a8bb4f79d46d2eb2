// Follows a stream: as long as the reader is at its end the end stays in sight; who scrolls away is left
// alone until they come back.

import { useEffect, useRef, useState } from "preact/hooks";

/** Nearer than this to the end counts as at the end: zoomed pages have fractions of pixels. */
export const SLACK_PX = 24;

/** What was to be seen may still take its final form for a while: heights that were only guessed, a text
    that is drawn anew when it is complete. */
const SETTLE_MS = 1500;

/** What is measured: where the content ends, and where the window on it does. */
export interface Ends {
  readonly content: number;
  readonly view: number;
  readonly width?: number;
}

/** Room above what is asked. */
const ASIDE_PX = 8;

export function atEnd({ content, view }: Ends): boolean {
  return content - view <= SLACK_PX;
}

/** Decides; touches no page. */
export class Follower {
  following = true;
  private width: number | undefined;

  constructor(
    private readonly measure: () => Ends,
    private readonly scroll: (by: number) => void,
  ) {}

  /** The content grew. Only what still grows by itself is followed: a fold that was opened is not. */
  grown(streaming: boolean): void {
    const { content, view, width } = this.measure();
    this.width = width;
    if (streaming && this.following && content > view) this.scroll(content - view);
  }

  /** The reader scrolled, or we did (then it is the end), or a page that got narrower did: its end is
      further down now, and nobody has left it. */
  scrolled(): void {
    const ends = this.measure();
    if (ends.width === this.width) this.following = atEnd(ends);
  }

  /** The reader opened something: they want to see that, and not the end. */
  leave(): void {
    this.following = false;
  }

  toEnd(): void {
    const { content, view } = this.measure();
    this.following = true;
    this.scroll(content - view);
  }
}

/** Follow the end of the content: in its own scroll area (which begins there), or in whatever scrolls
    around it (which is not ours to move before there is more to see). */
export function useFollow(
  content: { current: HTMLElement | null },
  streaming: boolean,
  { own = false } = {},
): { away: boolean; toEnd: () => void } {
  const [away, setAway] = useState(false);
  const follower = useRef<Follower | null>(null);
  const going = useRef(streaming);
  const until = useRef(0);
  going.current = streaming;
  useEffect(() => {
    const el = content.current;
    if (!el) return;
    const scroller = scrollerOf(el);
    const made = new Follower(
      () => ends(el, scroller),
      (by) => scroller.scrollBy({ top: by, behavior: "instant" }),
    );
    follower.current = made;
    const update = () => setAway(!made.following && !atEnd(ends(el, scroller)));
    const scrolled = () => {
      made.scrolled();
      update();
    };
    const opened = (event: Event) => {
      if ((event.target as Element | null)?.closest?.("summary, .acp-more")) made.leave();
    };
    if (own) made.toEnd();
    made.following = atEnd(ends(el, scroller));
    const target = scroller === document.scrollingElement ? document : scroller;
    const controller = new AbortController();
    const { signal } = controller;
    target.addEventListener("scroll", scrolled, { passive: true, signal });
    el.addEventListener("click", opened, { signal });
    const observer =
      typeof ResizeObserver === "undefined"
        ? null
        : new ResizeObserver(() => {
            if (going.current) until.current = Date.now() + SETTLE_MS;
            made.grown(own || (Date.now() < until.current && !typesElsewhere(el)));
            update();
          });
    observer?.observe(el);
    if (own) observer?.observe(scroller); // what appears below it takes its room
    return () => {
      controller.abort();
      observer?.disconnect();
    };
  }, []);
  const toEnd = () => {
    until.current = Date.now() + SETTLE_MS;
    follower.current?.toEnd();
  };
  return { away, toEnd };
}

/** What is asked is seen from its beginning, also where it is longer than the window: that is the end then. */
function ends(el: HTMLElement, scroller: Element): Ends {
  const { top, bottom } = windowOf(scroller);
  const asked = el.querySelector("[data-acp-question][data-status='open']");
  const end = el.getBoundingClientRect().bottom;
  const from = asked ? asked.getBoundingClientRect().top - ASIDE_PX + bottom - top : end;
  return { content: Math.min(end, from), view: bottom, width: scroller.clientWidth };
}

export function windowOf(scroller: Element): { top: number; bottom: number } {
  if (scroller === document.scrollingElement) return { top: 0, bottom: innerHeight };
  const top = scroller.getBoundingClientRect().top + scroller.clientTop;
  return { top, bottom: top + scroller.clientHeight };
}

/** Who writes in another cell must not see it move away. */
function typesElsewhere(el: HTMLElement): boolean {
  const active = document.activeElement;
  return (
    active instanceof HTMLElement &&
    !el.closest(".acp")?.contains(active) &&
    active.matches("input, textarea, [contenteditable='true']")
  );
}

export function scrollerOf(el: HTMLElement): Element {
  for (let at = el.parentElement; at; at = at.parentElement) {
    const { overflowY } = getComputedStyle(at);
    if (overflowY === "auto" || overflowY === "scroll") return at;
  }
  return document.scrollingElement ?? document.documentElement;
}
