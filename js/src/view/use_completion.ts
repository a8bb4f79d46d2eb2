// Completion while a prompt is written: of the agent's slash commands, and of @-names.

import { useState } from "preact/hooks";
import type { Snapshot } from "../store";
import type { Command } from "../types";
import { matching } from "./completion";
import type { Choice } from "./completion";
import { mentionAt, mentioned, useMentions } from "./mentions";
import { usePageId } from "./page_id";
import { usePanel } from "./panel";
import type { DraftState } from "./use_draft";

export interface Completion {
  /** Of the list, for the field that controls it. */
  readonly id: string;
  readonly label: string;
  readonly choices: readonly Choice[];
  readonly active: number;
  /** A name is being written: it is not complete yet. */
  readonly unfinished: boolean;
  /** Look for choices at the caret; null closes the list. */
  update(field: HTMLTextAreaElement | null): void;
  accept(choice: Choice): void;
  /** Returns whether the key was for the list. */
  handleKey(event: KeyboardEvent): boolean;
}

export function useCompletion(
  { field, replace }: DraftState,
  commands: readonly Command[],
  offered: Snapshot["offered"],
): Completion {
  const { emit } = usePanel();
  const id = usePageId();
  const [slash, setSlash] = useState<readonly Choice[]>([]);
  const [active, setActive] = useState(0);
  const mentions = useMentions(offered, emit);
  const choices = slash.length > 0 ? slash : mentions.choices;

  const update = (el: HTMLTextAreaElement | null) => {
    setSlash(el ? matching(el.value, el.selectionStart, commands) : []);
    mentions.look(el ? mentionAt(el.value, el.selectionStart) : null);
    setActive(0);
  };
  const accept = ({ name }: Choice) => {
    const el = field.current;
    if (!el) return;
    const caret = el.selectionStart;
    const fragment = mentionAt(el.value, caret);
    if (name.startsWith("/")) replace(`${name} `);
    else if (fragment !== null) {
      const next = mentioned(el.value, caret, fragment, name);
      replace(next.text, next.caret);
    }
    update(name.endsWith("/") ? el : null);
  };
  const handleKey = (event: KeyboardEvent) => {
    const choice = choices[active];
    if (!choice) return false;
    switch (event.key) {
      case "ArrowDown":
        setActive((active + 1) % choices.length);
        return true;
      case "ArrowUp":
        setActive((active - 1 + choices.length) % choices.length);
        return true;
      case "Enter":
      case "Tab":
        if (event.shiftKey) return false;
        if (event.key === "Enter" && isWritten(choice, field.current)) return false;
        accept(choice);
        return true;
      case "Escape":
        update(null);
        return true;
      default:
        return false;
    }
  };
  const label = slash.length > 0 ? "Commands" : "Names";
  const unfinished = choices.length > 0 && !choices.some((it) => isWritten(it, field.current));
  return { id, label, choices, active, unfinished, update, accept, handleKey };
}

/** Whether the name is complete already: then Enter sends the prompt. */
function isWritten({ name }: Choice, field: HTMLTextAreaElement | null): boolean {
  return (field?.value.slice(0, field.selectionStart) ?? "").endsWith(name);
}
