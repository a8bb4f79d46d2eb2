// The menu of a card: what is needed now and then, behind one button.

import { useEffect, useRef, useState } from "preact/hooks";

export interface MenuEntry {
  readonly name: string;
  readonly run: () => void | Promise<void>;
  /** For a switch: whether it is on. */
  readonly on?: boolean;
}

/** How long the result of a click is shown. */
const FEEDBACK_MS = 2000;

export function CardMenu({ of, entries }: { of: string; entries: readonly MenuEntry[] }) {
  const [open, setOpen] = useState(false);
  const [said, setSaid] = useState("");
  const box = useRef<HTMLSpanElement>(null);
  const close = (back: boolean) => {
    setOpen(false);
    if (back) box.current?.querySelector("button")?.focus({ preventScroll: true });
  };
  useEffect(() => {
    if (said === "") return;
    const timer = setTimeout(() => setSaid(""), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const choose = async ({ run, on }: MenuEntry) => {
    close(true);
    try {
      await run();
      if (on === undefined) setSaid("Copied");
    } catch {
      setSaid("Copy failed");
    }
  };
  return (
    <span
      ref={box}
      class="acp-menu"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        event.preventDefault();
        event.stopPropagation();
        close(true);
      }}
      onFocusOut={({ relatedTarget }) => {
        if (!(relatedTarget instanceof Node && box.current?.contains(relatedTarget))) close(false);
      }}
    >
      <span class="acp-file-feedback" role="status">
        {said}
      </span>
      <button
        type="button"
        class="acp-menu-button"
        aria-label={`More about ${of}`}
        title="More"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <span aria-hidden="true">⋯</span>
      </button>
      {open && (
        <span class="acp-menu-entries" role="group" aria-label="More">
          {entries.map((entry) => (
            <button
              key={entry.name}
              type="button"
              aria-pressed={entry.on}
              // Safari gives a clicked button no focus, and the menu would close before the click.
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => void choose(entry)}
            >
              {entry.name}
            </button>
          ))}
        </span>
      )}
    </span>
  );
}
