// Follows a stream: while the reader is at the end, the end stays in sight; a reader who scrolls away is left
// alone until they come back.

import { useEffect, useRef, useState } from "preact/hooks";

/** This close counts as the end: zoomed pages have fractions of pixels. */
export const SLACK_PX = 24;

/** How long heights may still change after the last growth: estimates are replaced, complete text is redrawn. */
const SETTLE_MS = 1500;

/** Where the content ends, and where the visible part of it does. */
export interface Ends {
  readonly content: number;
  readonly view: number;
  readonly width?: number;
}

/** Positions on zoomed pages are rounded. */
const ROUNDED_PX = 1;

/** Space above an open question. */
const MARGIN_PX = 8;

export function atEnd({ content, view }: Ends): boolean {
  return content - view <= SLACK_PX;
}

/** How far up the page was scrolled since a part was marked, and how far down that part moved; undefined: it
    is gone. */
export type Since = () => { readonly scrolled: number; readonly moved: number | undefined };

/** Decides when to scroll; does not touch the page. */
export class Follower {
  following = true;
  private width: number | undefined;
  private since: Since = () => ({ scrolled: 1 + ROUNDED_PX, moved: undefined });

  /** `mark`: mark a part, by which the reader's scrolling is known later. */
  constructor(
    private readonly measure: () => Ends,
    private readonly scroll: (by: number) => void,
    private readonly mark: () => Since,
  ) {}

  /** The content grew. Only streamed growth is followed, not a fold that the reader opened. */
  grown(streaming: boolean): void {
    const { content, view, width } = this.measure();
    this.width = width;
    if (streaming && this.following && content > view) this.scroll(content - view);
    this.since = this.mark();
  }

  /** The page scrolled. When its width changed, the end moved and the reader did not leave it. Nor did they
      if it was our own scrolling and the content has grown since, or if a part was removed or grew above and
      the browser kept the rest in its place: the reader moves everything as far as the page scrolls. */
  scrolled(streaming: boolean): void {
    const ends = this.measure();
    if (ends.width !== this.width) return;
    if (atEnd(ends)) {
      if (!this.following) this.since = this.mark(); // else many small steps would not count
      this.following = true;
    } else if (this.following) {
      const { scrolled, moved = scrolled } = this.since();
      this.following = scrolled <= ROUNDED_PX || Math.abs(moved - scrolled) > ROUNDED_PX;
      if (this.following) this.grown(streaming);
    }
  }

  /** The reader opened something, and wants to see that rather than the end. */
  leave(): void {
    this.following = false;
  }

  toEnd(): void {
    const { content, view } = this.measure();
    this.following = true;
    this.scroll(content - view);
    this.since = this.mark();
  }
}

/** Follow the end of the content. `own`: the scroll area is ours and starts at the end; otherwise the page
    scrolls, and is moved only when there is more to see. */
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
      // In our own area, turns above the last one may go; a part grows downwards only.
      () => markIn(own ? (el.lastElementChild ?? el) : el, scroller),
    );
    follower.current = made;
    const update = () => setAway(!made.following && !atEnd(ends(el, scroller)));
    const goesOn = () => own || (Date.now() < until.current && !typesElsewhere(el));
    const scrolled = () => {
      made.scrolled(goesOn());
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
            made.grown(goesOn());
            update();
          });
    observer?.observe(el);
    if (own) observer?.observe(scroller); // what appears below it takes space from it
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

function markIn(part: Element, scroller: Element): Since {
  const place = () => part.getBoundingClientRect().top - windowOf(scroller).top;
  const before = { place: place(), top: scroller.scrollTop };
  return () => ({
    scrolled: before.top - scroller.scrollTop,
    moved: part.isConnected ? place() - before.place : undefined,
  });
}

/** An open question is shown from its beginning, even if it is longer than the window. */
function ends(el: HTMLElement, scroller: Element): Ends {
  const { top, bottom } = windowOf(scroller);
  const asked = el.querySelector("[data-acp-question][data-status='open']");
  const end = el.getBoundingClientRect().bottom;
  const from = asked ? asked.getBoundingClientRect().top - MARGIN_PX + bottom - top : end;
  return { content: Math.min(end, from), view: bottom, width: scroller.clientWidth };
}

export function windowOf(scroller: Element): { top: number; bottom: number } {
  if (scroller === document.scrollingElement) return { top: 0, bottom: innerHeight };
  const top = scroller.getBoundingClientRect().top + scroller.clientTop;
  return { top, bottom: top + scroller.clientHeight };
}

/** A cell in which the user types must not move away. */
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
