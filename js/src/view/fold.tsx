// Something that can be closed. Whether it is open belongs to the session, not to this view: views come
// and go, and several show the same.

import type { ComponentChildren } from "preact";
import type { Emit } from "../types";

interface Props {
  name: string;
  open: boolean;
  emit: Emit;
  class: string;
  summary: ComponentChildren;
  children: ComponentChildren;
}

export function Fold({ name, open, emit, class: style, summary, children }: Props) {
  return (
    <details
      class={style}
      open={open}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open !== open) emit({ t: "fold", key: name, open: currentTarget.open });
      }}
    >
      <summary>{summary}</summary>
      {children}
    </details>
  );
}
