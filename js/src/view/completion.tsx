// What fits what is being written (slash commands, @-names), as a list below the field's control: the focus
// stays in the field.

import type { Command } from "../types";
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

interface Props {
  id: string;
  label: string;
  choices: readonly Choice[];
  active: number;
  take: (choice: Choice) => void;
}

export function CompletionList({ id, label, choices, active, take }: Props) {
  return (
    <ul
      class="acp-completion"
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
