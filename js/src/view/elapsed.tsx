// How long something has been running. Ticks once a second, only while shown.

import { useEffect, useState } from "preact/hooks";

const TICK_MS = 1000;

export function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [since]);
  // Not for screen readers: a clock in a live region never stops talking.
  return (
    <span class="acp-elapsed" aria-hidden="true">
      {duration(now - since)}
    </span>
  );
}

/** The time left. Kernel and page clocks may differ, so it is never more than the wait itself. */
export function Countdown({ until, wait }: { until: number; wait: number }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [until]);
  const left = Math.min(Math.max(0, until * 1000 - now), wait * 1000);
  return left > 0 ? (
    <span class="acp-elapsed" aria-hidden="true" data-acp-countdown="">
      wait {duration(left + TICK_MS - 1)}
    </span>
  ) : null;
}

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
