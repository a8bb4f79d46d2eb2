// @vitest-environment node

import { expect, test } from "vitest";
import { Follower, SLACK_PX } from "../src/view/follow";

/** A window of 100 px on content that ends at `end`, seen from `top`. */
function scene(end: number, top = Math.max(0, end - 100)) {
  const at = { end, top, width: 500 };
  const follower = new Follower(
    () => ({ content: at.end - at.top, view: 100, width: at.width }),
    (by) => void (at.top += by),
    () => {
      const top = at.top;
      return () => ({ scrolled: top - at.top, moved: top - at.top });
    },
  );
  follower.grown(false);
  return {
    at,
    follower,
    grow: (by: number, streaming = true) => {
      at.end += by;
      follower.grown(streaming);
    },
    scroll: (to: number) => {
      at.top = to;
      follower.scrolled(true);
    },
  };
}

test("a reader at the end keeps seeing the end", () => {
  const { at, grow } = scene(300);
  grow(50);
  grow(70);
  expect(at.top).toBe(320);
});

test("a reader who scrolls away is left alone until they come back", () => {
  const { at, follower, grow, scroll } = scene(300);
  scroll(100);
  grow(50);
  expect([at.top, follower.following]).toEqual([100, false]);
  scroll(250 - SLACK_PX);
  grow(50);
  expect(at.top).toBe(300);
});

test("content that grew before our own scrolling was reported does not count as scrolling away", () => {
  const { at, follower, grow, scroll } = scene(300);
  grow(400);
  at.end += 170; // drawn, but not reported yet
  scroll(at.top);
  expect([at.top, follower.following]).toEqual([770, true]);
});

test("the end stays in sight if a part gives way to another of its size, which nothing reports", () => {
  const at = { end: 1000, top: 900, removed: 0 };
  const follower = new Follower(
    () => ({ content: at.end - at.top, view: 100, width: 500 }),
    (by) => void (at.top += by),
    () => {
      const { top, removed } = at;
      return () => ({ scrolled: top - at.top, moved: top - at.top - (at.removed - removed) });
    },
  );
  follower.grown(true);
  at.removed += 200;
  at.top -= 200; // the browser keeps the rest in its place
  follower.scrolled(true);
  expect([at.top, follower.following]).toEqual([900, true]);
});

test("a reader leaves in small steps, too", () => {
  const { at, grow, scroll } = scene(300);
  for (let step = 1; step <= SLACK_PX + 6; step++) scroll(at.top - 1);
  grow(50);
  expect(at.top).toBe(200 - SLACK_PX - 6);
});

test("narrowing the page does not count as scrolling away", () => {
  const { at, grow, scroll } = scene(300);
  at.width = 300;
  at.end += 200;
  scroll(at.top); // the browser's own
  grow(0);
  expect(at.top).toBe(400);
  scroll(100);
  grow(50);
  expect(at.top).toBe(100);
});

test("content that still fits does not scroll", () => {
  const { at, grow } = scene(20, 0);
  grow(50);
  expect(at.top).toBe(0);
  grow(50);
  expect(at.top).toBe(20);
});

test("growth because of an opened fold is not followed", () => {
  const { at, follower, grow } = scene(300);
  grow(500, false);
  expect(at.top).toBe(200);
  const other = scene(300);
  other.follower.leave();
  other.grow(500);
  expect(other.at.top).toBe(200);
  follower.toEnd();
  expect(at.top).toBe(700);
});
