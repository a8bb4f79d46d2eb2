// The buttons of the header: some in the row, the rest in a menu behind "⋯".

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons";
import type { IconName } from "./icons";
import { usePageId } from "./page_id";

export interface MenuEntry {
  /** Its button can be found by `data-acp-<id>`. */
  id: string;
  label: string;
  /** In the row instead of the menu; in a narrow panel only the icon is shown. */
  inRow?: boolean;
  icon?: IconName;
  /** A switch that is on or off. */
  checked?: boolean;
  /** Opens and closes a part of the panel. */
  expanded?: boolean;
  disabled?: boolean;
  run: () => void;
}

export function HeaderMenu({ entries }: { entries: readonly MenuEntry[] }) {
  const hidden = entries.filter((entry) => !entry.inRow);
  return (
    <>
      {entries.map((entry) => entry.inRow && <RowButton key={entry.id} entry={entry} />)}
      {hidden.length > 0 && <More entries={hidden} />}
    </>
  );
}

function hookOf({ id }: MenuEntry): Record<string, string> {
  return { [`data-acp-${id}`]: "" };
}

function RowButton({ entry }: { entry: MenuEntry }) {
  const { label, icon, checked, expanded, disabled, run } = entry;
  return (
    <button
      type="button"
      class="acp-ghost"
      {...hookOf(entry)}
      title={label}
      aria-pressed={checked}
      aria-expanded={expanded}
      disabled={disabled}
      onClick={run}
    >
      {icon && <Icon name={icon} />}
      <span class={icon && "acp-entry-label"}>{label}</span>
    </button>
  );
}

/** How the arrow keys move in the menu. */
const STEPS: Record<string, (at: number, last: number) => number> = {
  ArrowDown: (at, last) => (at >= last ? 0 : at + 1),
  ArrowUp: (at, last) => (at <= 0 ? last : at - 1),
  Home: () => 0,
  End: (_, last) => last,
};

function More({ entries }: { entries: readonly MenuEntry[] }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const id = usePageId();
  const items = () => [
    ...(box.current?.querySelectorAll<HTMLElement>("[role^=menuitem]:not([disabled])") ?? []),
  ];
  const close = () => {
    setOpen(false);
    box.current?.querySelector("button")?.focus({ preventScroll: true });
  };
  useLayoutEffect(() => {
    if (open) items()[0]?.focus({ preventScroll: true });
  }, [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!open || (event.key !== "Escape" && !step)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!step) return close();
    const all = items();
    const at = all.indexOf(event.target as HTMLElement);
    all[step(at, all.length - 1)]?.focus({ preventScroll: true });
  };
  const onFocusOut = ({ relatedTarget }: FocusEvent) => {
    if (!(relatedTarget instanceof Node && box.current?.contains(relatedTarget))) setOpen(false);
  };
  return (
    <div class="acp-menu" ref={box} onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
      <button
        type="button"
        class="acp-ghost"
        data-acp-more=""
        aria-label="More"
        title="More"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        ⋯
      </button>
      {open && (
        <div class="acp-menu-list" role="menu" id={id} aria-label="More">
          {entries.map((entry) => (
            <button
              key={entry.id}
              type="button"
              {...hookOf(entry)}
              role={entry.checked === undefined ? "menuitem" : "menuitemcheckbox"}
              aria-checked={entry.checked}
              tabIndex={-1}
              disabled={entry.disabled}
              onClick={() => {
                close();
                entry.run();
              }}
            >
              {entry.checked && "✓ "}
              {entry.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
