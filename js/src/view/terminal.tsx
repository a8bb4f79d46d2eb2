// A terminal: its command, its output and its exit status.

import { createContext } from "preact";
import type { ComponentChildren } from "preact";
import { useContext, useMemo } from "preact/hooks";
import type { TerminalItem } from "../types";
import { commandText } from "./command_text";
import { memo } from "./memo";
import { TerminalText } from "./terminal_text";
import { line } from "./display_text";

/** The session's terminals, for the tool calls that show them. */
const TerminalsById = createContext<ReadonlyMap<string, TerminalItem>>(new Map());

/** Their commands, which do not change with every chunk of output. */
export const CommandsById = createContext<ReadonlyMap<string, string>>(new Map());

interface TerminalsProps {
  byId: ReadonlyMap<string, TerminalItem>;
  children: ComponentChildren;
}

export function Terminals({ byId, children }: TerminalsProps) {
  const all = [...byId.values()].map(({ id, command = "" }) => [id, command] as const);
  const commands = useMemo(() => new Map(all), [JSON.stringify(all)]);
  return (
    <TerminalsById.Provider value={byId}>
      <CommandsById.Provider value={commands}>{children}</CommandsById.Provider>
    </TerminalsById.Provider>
  );
}

/** A terminal by its id; agents may name terminals that we do not know. */
export function TerminalOf({ id, shown = [] }: { id: string; shown?: readonly string[] }) {
  const item = useContext(TerminalsById).get(id);
  if (item) return <TerminalView item={item} named={shown.includes(lineOf(item))} />;
  return <div class="acp-quiet">terminal {line(id)}</div>;
}

/** The command as people write it; the card's menu has it as it was run. */
function lineOf({ command = "" }: TerminalItem): string {
  return line(commandText(command).line.trim());
}

/** `named`: its card shows the command. */
export const TerminalView = memo(function TerminalView(props: {
  item: TerminalItem;
  named?: boolean;
}) {
  const { item, named = false } = props;
  return (
    <div class="acp-terminal" data-acp-terminal={item.id} data-status={item.status}>
      {!named && (
        <div class="acp-terminal-head">
          <code class="acp-terminal-command">
            <span aria-hidden="true">$ </span>
            {lineOf(item)}
          </code>
        </div>
      )}
      {(item.dropped ?? 0) > 0 && (
        <div class="acp-quiet acp-terminal-note">
          {item.dropped} earlier characters were dropped
        </div>
      )}
      {item.output !== "" && <TerminalText text={item.output} />}
      <div class="acp-terminal-end" data-ok={item.exit_code === 0}>
        {item.status === "running" && <span class="acp-spinner" aria-hidden="true" />}
        {ending(item)}
      </div>
    </div>
  );
});

export function ending(item: TerminalItem): string {
  if (item.status === "running") return "running";
  if (item.signal !== undefined) return `ended by ${line(item.signal)}`;
  return item.exit_code === undefined ? line(item.status) : `exit code ${item.exit_code}`;
}
