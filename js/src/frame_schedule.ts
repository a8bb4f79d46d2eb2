// One call per animation frame, however often it is asked for; and no frame in which many panels draw.

/** A hidden tab draws no frames, but its state must stay current (a save may read it): use a timer. */
const HIDDEN_MS = 250;

/** After this long the other panels wait for the next frame. */
export const FRAME_MS = 20;

export type Schedule = (run: () => void) => void;

// Shared by all copies of this module in the page: each session has its own.
const FRAME = Symbol.for("acp_notebook.frame.1");

/** The time of the newest frame, and for how long panels have drawn in it. */
interface Frame {
  at: number;
  spent: number;
}

function sharedFrame(): Frame {
  const page = globalThis as { [FRAME]?: Frame };
  return (page[FRAME] ??= { at: 0, spent: 0 });
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
      const shared = sharedFrame();
      if (shared.at !== at) shared.spent = 0;
      shared.at = at;
      if (shared.spent >= FRAME_MS) return void (frame = requestAnimationFrame(draw));
      const began = performance.now();
      once();
      shared.spent += performance.now() - began;
    };
    let frame = requestAnimationFrame(draw);
    const timer = setTimeout(once, HIDDEN_MS);
  };
}
