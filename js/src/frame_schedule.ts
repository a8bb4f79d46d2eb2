// One call per animation frame, however often it is asked for.

/** A hidden tab draws no frames, but its state must stay current (a save may read it): use a timer. */
const HIDDEN_MS = 250;

export type Schedule = (run: () => void) => void;

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
    const frame = requestAnimationFrame(once);
    const timer = setTimeout(once, HIDDEN_MS);
  };
}
