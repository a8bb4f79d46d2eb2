// A part that can be folded. Whether it is open is kept in the store, not in this view: views come and go,
// and several may show the same part.

import type { ComponentChildren } from "preact";
import { usePanel } from "./panel";

interface Props {
  name: string;
  open: boolean;
  /** It stays open. */
  locked?: boolean;
  class: string;
  summary: ComponentChildren;
  children: ComponentChildren;
}

export function Fold({ name, open, locked, class: style, summary, children }: Props) {
  const { emit } = usePanel();
  return (
    <details
      class={style}
      open={open}
      // Find-in-page opens it too.
      onToggle={({ currentTarget }) => {
        if (currentTarget.open !== open) emit({ t: "fold", key: name, open: currentTarget.open });
      }}
    >
      <summary
        onClick={(event) => {
          if (locked) return event.preventDefault();
          // Before the toggle: a redraw in between must not revert it.
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
