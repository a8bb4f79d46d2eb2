// Something that can be closed. Whether it is open belongs to the session, not to this view: views come
// and go, and several show the same.

import type { ComponentChildren } from "preact";
import type { Emit } from "../types";

interface Props {
  name: string;
  open: boolean;
  /** It stays open. */
  locked?: boolean;
  emit: Emit;
  class: string;
  summary: ComponentChildren;
  children: ComponentChildren;
}

export function Fold({ name, open, locked, emit, class: style, summary, children }: Props) {
  return (
    <details
      class={style}
      open={open}
      // Opened by a search in the page, too.
      onToggle={({ currentTarget }) => {
        if (currentTarget.open !== open) emit({ t: "fold", key: name, open: currentTarget.open });
      }}
    >
      <summary
        onClick={(event) => {
          if (locked) return event.preventDefault();
          // Told before it is done: a view that is drawn in between must not undo it.
          const folded = event.currentTarget.parentElement as HTMLDetailsElement;
          emit({ t: "fold", key: name, open: !folded.open });
        }}
      >
        {summary}
      </summary>
      {children}
    </details>
  );
}
