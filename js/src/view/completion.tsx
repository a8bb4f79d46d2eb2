// The agent's slash commands that fit what is being written, as a list below the field's control: the
// focus stays in the field.

import type { Command } from "../types";
import { line } from "./words";

/** As many as are worth reading. */
const MOST = 50;

/** The commands that fit; none unless the text is the beginning of a command and the caret is in it. */
export function matching(text: string, caret: number, commands: readonly Command[]): Command[] {
  const found = /^\/(\S*)$/.exec(text.slice(0, caret));
  if (!found || /\s/.test(text) || caret !== text.length) return [];
  const word = (found[1] ?? "").toLowerCase();
  const name = (command: Command) => command.name.replace(/^\//, "").toLowerCase();
  const starts = commands.filter((command) => name(command).startsWith(word));
  const has = commands.filter((it) => !name(it).startsWith(word) && name(it).includes(word));
  return [...starts, ...has].slice(0, MOST);
}

/** The field's text when a command is taken. */
export function completed(command: Command): string {
  return `/${command.name.replace(/^\//, "")} `;
}

interface Props {
  id: string;
  commands: readonly Command[];
  active: number;
  take: (command: Command) => void;
}

export function CompletionList({ id, commands, active, take }: Props) {
  return (
    <ul
      class="acp-completion"
      id={id}
      role="listbox"
      aria-label="Commands"
      data-acp-completion=""
      // It scrolls, so it can be reached; a press on its bar must not take the focus from the field.
      tabIndex={0}
      onMouseDown={(event) => event.preventDefault()}
    >
      {commands.map((command, at) => (
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
            take(command);
          }}
        >
          <span class="acp-command-name">/{line(command.name.replace(/^\//, ""))}</span>
          {command.hint && <span class="acp-quiet"> {line(command.hint)}</span>}
          <span class="acp-command-about">{line(command.description)}</span>
        </li>
      ))}
    </ul>
  );
}
