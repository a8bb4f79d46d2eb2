// The list of completions (slash commands, @-names). The focus stays in the field.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Command } from "../types";
import { scrollerOf, windowOf } from "./follow";
import { line } from "./display_text";

/** More are not worth reading. */
const MOST = 50;

export interface Choice {
  /** As the user writes it: /tour, @df. */
  readonly name: string;
  readonly hint: string;
  readonly about: string;
}

/** The matching commands; none unless the text is the start of a command and the caret is at its end. */
export function matching(text: string, caret: number, commands: readonly Command[]): Choice[] {
  const found = /^\/(\S*)$/.exec(text.slice(0, caret));
  if (!found || /\s/.test(text) || caret !== text.length) return [];
  const word = (found[1] ?? "").toLowerCase();
  const name = (command: Command) => command.name.replace(/^\//, "").toLowerCase();
  const starts = commands.filter((command) => name(command).startsWith(word));
  const has = commands.filter((it) => !name(it).startsWith(word) && name(it).includes(word));
  return [...starts, ...has].slice(0, MOST).map((command) => ({
    name: `/${command.name.replace(/^\//, "")}`,
    hint: command.hint ?? "",
    about: command.description,
  }));
}

/** The greatest and least height: at least two lines and part of a third, which shows that there are more. */
const [MOST_PX, LEAST_PX] = [220, 60];

/** The list opens upwards, and the scroll area around it cuts off what does not fit. */
function roomAbove(list: HTMLElement | null): number {
  if (!list) return MOST_PX;
  const { top } = windowOf(scrollerOf(list));
  const bottom = list.getBoundingClientRect().bottom;
  return Math.max(LEAST_PX, Math.min(MOST_PX, bottom - Math.max(top, 0)));
}

interface Props {
  id: string;
  label: string;
  choices: readonly Choice[];
  active: number;
  accept: (choice: Choice) => void;
}

export function CompletionList({ id, label, choices, active, accept }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const [room, setRoom] = useState(MOST_PX);
  useLayoutEffect(() => setRoom(roomAbove(list.current)), []);
  return (
    <ul
      ref={list}
      class="acp-completion"
      style={{ maxHeight: `${room}px` }}
      id={id}
      role="listbox"
      aria-label={label}
      data-acp-completion=""
      // It scrolls, so it must be focusable; a press on its scroll bar must not take the focus from the field.
      tabIndex={0}
      onMouseDown={(event) => event.preventDefault()}
    >
      {choices.map((choice, at) => (
        <li
          key={at}
          id={`${id}-${at}`}
          role="option"
          aria-selected={at === active}
          ref={(el) => {
            if (at === active) el?.scrollIntoView?.({ block: "nearest" });
          }}
          // Before a click, with which the field would lose the focus.
          onMouseDown={(event) => {
            event.preventDefault();
            accept(choice);
          }}
        >
          <span class="acp-command-name">{line(choice.name)}</span>
          {choice.hint && <span class="acp-quiet"> {line(choice.hint)}</span>}
          <span class="acp-command-about">{line(choice.about)}</span>
        </li>
      ))}
    </ul>
  );
}
