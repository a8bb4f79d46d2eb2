// What fits what is being written (slash commands, @-names), as a list below the field's control: the focus
// stays in the field.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Command } from "../types";
import { scrollerOf, windowOf } from "./follow";
import { line } from "./words";

/** As many as are worth reading. */
const MOST = 50;

export interface Choice {
  /** As it is written: /tour, @df. */
  readonly name: string;
  readonly hint: string;
  readonly about: string;
}

/** The commands that fit; none unless the text is the beginning of a command and the caret is in it. */
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

/** As high as it gets, and as low: two lines and a bit of the third, which says that there are more. */
const [MOST_PX, LEAST_PX] = [220, 60];

/** It opens upwards, and what scrolls around it cuts off what stands out of that. */
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
  take: (choice: Choice) => void;
}

export function CompletionList({ id, label, choices, active, take }: Props) {
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
      // It scrolls, so it can be reached; a press on its bar must not take the focus from the field.
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
          // Not a click: the field would lose the focus first.
          onMouseDown={(event) => {
            event.preventDefault();
            take(choice);
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
