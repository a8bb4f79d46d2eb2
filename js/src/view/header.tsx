// Who the agent is, and how the session stands.

import type { Header } from "../types";
import { line, spoken } from "./words";

export function HeaderView({ header }: { header: Header }) {
  const agent = header.agent;
  return (
    <header class="acp-header">
      <span class="acp-title">{line(agent?.title ?? agent?.name ?? "Agent")}</span>
      {agent?.version && <span class="acp-quiet"> {line(agent.version)}</span>}
      {header.title && <span> · {line(header.title)}</span>}
      <span class="acp-badge" data-status={header.status}>
        {spoken(header.status ?? "starting")}
      </span>
      {header.detail && <span class="acp-quiet"> {line(header.detail)}</span>}
    </header>
  );
}
