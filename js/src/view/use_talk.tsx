// What a panel offers for its conversation as a whole: search, export, notifications, following the agent.

import type { ComponentChildren, RefObject } from "preact";
import { useContext, useEffect } from "preact/hooks";
import type { Snapshot } from "../store";
import { ExportNote } from "./export_note";
import { FindBar } from "./find_bar";
import { FOLLOW_FOLD, useFollowAgent } from "./follow_agent";
import type { MenuEntry } from "./header_menu";
import { HostContext } from "./host";
import { usePanel } from "./panel";
import type { Target } from "./reveal";
import { useExport } from "./use_export";
import type { Form } from "./use_export";
import { useFind } from "./use_find";
import { useNotifying } from "./use_notifying";

export interface Talk {
  readonly entries: readonly MenuEntry[];
  /** Shown above the conversation. */
  readonly bars: ComponentChildren;
  /** What the conversation must draw. */
  readonly target: Target | null;
  readonly searching: boolean;
}

const FORMS: readonly (readonly [Form, string])[] = [
  ["markdown", "Export as markdown"],
  ["html", "Export as HTML"],
  ["notebook", "Export the code as a notebook"],
];

export function useTalk(snapshot: Snapshot, panel: RefObject<HTMLElement | null>): Talk {
  const { emit, link } = usePanel();
  const { files } = useContext(HostContext);
  const following = snapshot.folds.get(FOLLOW_FOLD) ?? false;
  const find = useFind(snapshot, emit, panel);
  const exporting = useExport(snapshot.exported, emit);
  const notify = useNotifying();
  useFollowAgent(following, snapshot.turns, panel);
  useFindKey(panel, find.start);
  const entries: MenuEntry[] = [
    { id: "search", label: "Search the conversation", run: find.start },
    ...FORMS.map(([form, label]) => ({
      id: `export-${form}`,
      label,
      disabled: link !== "live" || exporting.busy || snapshot.turns.length === 0,
      run: () => exporting.start(form),
    })),
    ...(files
      ? [
          {
            id: "follow",
            label: "Follow the agent",
            checked: following,
            run: () => emit({ t: "fold", key: FOLLOW_FOLD, open: !following }),
          },
        ]
      : []),
    ...notify,
  ];
  const bars = (
    <>
      {find.open && <FindBar find={find} />}
      <ExportNote of={exporting} />
    </>
  );
  return { entries, bars, target: find.target, searching: find.open };
}

/** Ctrl+F or Cmd+F in the panel opens its search; in the field of the search it is the browser's. */
function useFindKey(panel: RefObject<HTMLElement | null>, start: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { target } = event;
      const find = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f";
      if (!find || event.shiftKey || event.altKey) return;
      if (!(target instanceof Element) || !panel.current?.contains(target)) return;
      const field = panel.current.querySelector<HTMLElement>("[data-acp-find]");
      if (field === target) return;
      event.preventDefault();
      event.stopImmediatePropagation(); // before the host's own search
      start();
      field?.focus();
    };
    // On the window: hosts listen on the document.
    addEventListener("keydown", press, { capture: true });
    return () => removeEventListener("keydown", press, { capture: true });
  });
}
