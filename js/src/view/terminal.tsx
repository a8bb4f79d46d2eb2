// A command that the client ran for the agent: what, its output, how it ended.

import type { TerminalItem } from "../types";
import { code, line } from "./words";

export function TerminalView({ item }: { item: TerminalItem }) {
  return (
    <div class="acp-terminal">
      <div class="acp-path">$ {line(item.command ?? "")}</div>
      <pre class="acp-code">{code(item.output)}</pre>
      <div class="acp-quiet">{ending(item)}</div>
    </div>
  );
}

export function ending(item: TerminalItem): string {
  if (item.status === "running") return "running";
  if (item.signal !== undefined) return `ended by ${line(item.signal)}`;
  return item.exit_code === undefined ? line(item.status) : `exit code ${item.exit_code}`;
}
