import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FRAME_MS, inFrame, perFrame } from "../src/frame_schedule";

let waiting = new Map<number, FrameRequestCallback>();
let [time, frames, last] = [0, 0, 0];

beforeEach(() => {
  waiting = new Map();
  vi.stubGlobal("requestAnimationFrame", (run: FrameRequestCallback) => {
    waiting.set(++last, run);
    return last;
  });
  vi.stubGlobal("cancelAnimationFrame", (id: number) => waiting.delete(id));
  vi.spyOn(performance, "now").mockImplementation(() => time);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** A frame, with the microtasks after each callback. */
async function frame(): Promise<void> {
  const now = [...waiting.keys()];
  const at = ++frames;
  for (const id of now) {
    const run = waiting.get(id);
    waiting.delete(id);
    run?.(at);
    await Promise.resolve();
    await Promise.resolve();
  }
}

test("what has no time left in a frame is run in the next one", async () => {
  const ran: string[] = [];
  const slow = (name: string) => () => {
    ran.push(name);
    queueMicrotask(() => (time += FRAME_MS)); // views are drawn in a microtask
  };
  for (const name of ["a", "b"]) inFrame(slow(name));
  perFrame()(slow("panel"));
  await frame();
  expect(ran).toEqual(["a"]);
  await frame();
  expect(ran).toEqual(["a", "b"]);
  await frame();
  expect(ran).toEqual(["a", "b", "panel"]);
});

test("what takes little time shares a frame, and can be called off", async () => {
  const ran: string[] = [];
  inFrame(() => ran.push("a"));
  const stop = inFrame(() => ran.push("b"));
  inFrame(() => ran.push("c"));
  stop();
  await frame();
  expect(ran).toEqual(["a", "c"]);
});
