// Ignores keys and clicks that were meant for something else: those just after a question appeared, or after a
// button moved under a resting pointer.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { bringQuestion } from "./bring";
import { focused, inSight, isTyping } from "./focus";

/** Longer than somebody who is typing takes to notice that the focus moved. */
export const ARM_MS = 600;
/** Longer than it takes to abort a click. */
export const CLICK_MS = 250;
/** A question that appears in a place later than this was in another one before. */
const NEW_MS = 1000;
/** How long the note about an ignored key or click is shown. */
const IGNORED_MS = 5000;

const APPEARED = "this question just appeared";
const ANSWERED = "another question was just answered";
const MOVED = "the button just moved under the pointer";

/** The last position of the mouse on the screen. */
let mouse: { readonly x: number; readonly y: number } | null = null;

/** When a question of a view was answered: a key that is pressed twice must not answer the next one. */
const answered = new WeakMap<Element, number>();

/** Track the mouse until the signal. */
export function watchMouse(signal: AbortSignal): void {
  const note = ({ pointerType, screenX: x, screenY: y }: PointerEvent) => {
    if (pointerType === "mouse") mouse = { x, y };
  };
  addEventListener("pointermove", note, { capture: true, passive: true, signal });
}

export interface Guard {
  /** Why a key is ignored; null if it counts. */
  key(): string | null;
  /** The question was answered. */
  answered(): void;
  /** Why a click is ignored; null if it counts. */
  click(event: Pick<MouseEvent, "currentTarget" | "detail">): string | null;
  /** For each button. If the mouse has not moved, the button came to the pointer. */
  entered(event: PointerEvent): void;
}

/** Brings a question into sight, takes the focus if it is not in use, gives it back at the end, and decides which
    keys and clicks count. `place`: whether it is shown in this one, and since when it could be. */
export function useGuard(
  box: { current: HTMLDivElement | null },
  { holds, since }: { readonly holds: boolean; readonly since: number },
): Guard {
  const keysSince = useRef(0);
  const appeared = useRef(0);
  const moved = useRef(new WeakMap<EventTarget, number>());
  useLayoutEffect(() => {
    const mine = box.current;
    if (!mine || !holds) return;
    let from: HTMLElement | null = null;
    appeared.current = keysSince.current = performance.now();
    const take = () => {
      const present = focused();
      const asked = present?.closest("[data-acp-question]") ?? mine;
      if (isTyping() || asked !== mine || !inSight(mine)) return false;
      from = present;
      keysSince.current = performance.now();
      mine.focus({ preventScroll: true });
      return true;
    };
    let taken = take();
    // One that comes from another place comes to the reader: the page stays where it is.
    const isNew = performance.now() - since < NEW_MS;
    const bring = () => {
      bringQuestion(mine, isNew);
      taken ||= take();
    };
    // The conversation scrolls to its end a frame later.
    let frame = requestAnimationFrame(() => (frame = requestAnimationFrame(bring)));
    return () => {
      cancelAnimationFrame(frame);
      if (!mine.contains(focused())) return;
      const root = mine.closest(".acp");
      const others = [...(root?.querySelectorAll<HTMLElement>(OPEN) ?? [])];
      const to = others.find((other) => other !== mine) ?? from;
      queueMicrotask(() => to?.isConnected && to.focus({ preventScroll: true }));
    };
  }, [holds]);
  return {
    key() {
      const now = performance.now();
      if (now - keysSince.current < ARM_MS) return APPEARED;
      const last = box.current && answered.get(viewOf(box.current));
      return last != null && now - last < ARM_MS ? ANSWERED : null;
    },
    answered: () => void (box.current && answered.set(viewOf(box.current), performance.now())),
    click({ currentTarget, detail }) {
      const now = performance.now();
      if (now - appeared.current < CLICK_MS) return APPEARED;
      const since = currentTarget && moved.current.get(currentTarget);
      return detail > 0 && since && now - since < CLICK_MS ? MOVED : null;
    },
    entered({ currentTarget, pointerType, screenX, screenY }) {
      if (!currentTarget) return;
      const rests = pointerType === "mouse" && mouse?.x === screenX && mouse.y === screenY;
      if (rests) moved.current.set(currentTarget, performance.now());
      else moved.current.delete(currentTarget);
    },
  };
}

/** The outermost view around a question: that of another session may be within it. */
function viewOf(box: Element): Element {
  const view = box.closest(".acp") ?? box;
  return view.parentElement?.closest(".acp") ? viewOf(view.parentElement) : view;
}

/** Whether clicks count by now, for assistive technology. */
export function useReady(here = true): boolean {
  const [ready, setReady] = useState(false);
  useEffect(() => {
    if (!here) return setReady(false);
    const timer = setTimeout(() => setReady(true), CLICK_MS);
    return () => clearTimeout(timer);
  }, [here]);
  return ready;
}

/** Why the last key or click was ignored; disappears after a while. */
export function useIgnored(): readonly [string, (text: string) => void] {
  const [ignored, setIgnored] = useState("");
  useEffect(() => {
    if (ignored === "") return;
    const timer = setTimeout(() => setIgnored(""), IGNORED_MS);
    return () => clearTimeout(timer);
  }, [ignored]);
  return [ignored, setIgnored];
}

const OPEN = "[data-acp-question][data-status='open']";
