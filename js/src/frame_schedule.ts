// One call per animation frame, however often it is asked for; and no frame in which many panels, or many parts of
// them, draw.

/** A hidden tab draws no frames, but its state must stay current (a save may read it): use a timer. */
const HIDDEN_MS = 250;

/** After this long the others wait for the next frame. */
export const FRAME_MS = 12;

export type Schedule = (run: () => void) => void;

// Shared by all copies of this module in the page: each session has its own.
const FRAME = Symbol.for("acp_notebook.frame.1");

/** The time of the newest frame, and for how long was drawn in it. */
interface Frame {
  at: number;
  spent: number;
}

function sharedFrame(): Frame {
  const page = globalThis as { [FRAME]?: Frame };
  return (page[FRAME] ??= { at: 0, spent: 0 });
}

function hasTime(at: number): boolean {
  const shared = sharedFrame();
  if (shared.at !== at) shared.spent = 0;
  shared.at = at;
  return shared.spent < FRAME_MS;
}

/** Runs it, and counts its time; what it changes is drawn in the microtasks after it. */
function timed(run: () => void): void {
  const began = performance.now();
  run();
  queueMicrotask(() => (sharedFrame().spent += performance.now() - began));
}

/** Runs it in the next frame that has time for it; returns how to call it off. A hidden tab has no frames. */
export function inFrame(run: () => void): () => void {
  const draw = (at: number) => {
    if (hasTime(at)) timed(run);
    else frame = requestAnimationFrame(draw);
  };
  let frame = requestAnimationFrame(draw);
  return () => cancelAnimationFrame(frame);
}

export function perFrame(): Schedule {
  let waiting = false;
  return (run) => {
    if (waiting) return;
    waiting = true;
    const once = () => {
      if (!waiting) return;
      waiting = false;
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      run();
    };
    const draw = (at: number) => {
      if (hasTime(at)) timed(once);
      else frame = requestAnimationFrame(draw);
    };
    let frame = requestAnimationFrame(draw);
    const timer = setTimeout(once, HIDDEN_MS);
  };
}
