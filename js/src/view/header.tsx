// Who the agent is, how the session stands, and what can be set.

import type { Link, Sent } from "../store";
import type { Emit, Header } from "../types";
import { Settings } from "./settings";
import { UsageMeter } from "./usage";
import { line, spoken } from "./words";

interface Props {
  header: Header;
  link: Link;
  sent: ReadonlyMap<string, Sent>;
  emit: Emit;
}

export function HeaderView({ header, link, sent, emit }: Props) {
  const agent = header.agent;
  const status =
    link === "gone" || link === "offline" ? "disconnected" : (header.status ?? "starting");
  const version = agent?.version ? `${agent.name} ${agent.version}` : agent?.name;
  return (
    <div class="acp-header" role="group" aria-label="Session" data-acp-header={status}>
      <div class="acp-who">
        <span class="acp-dot" data-status={status} aria-hidden="true" />
        <span class="acp-title" title={line(version ?? "")}>
          {line(agent?.title ?? agent?.name ?? "Agent")}
        </span>
        {header.title && <span class="acp-session-title">{line(header.title)}</span>}
        <span class="acp-quiet" role="status">
          {spoken(status)}
        </span>
      </div>
      <div class="acp-tools">
        <UsageMeter usage={header.usage} />
        <Settings header={header} disabled={link !== "live"} sent={sent} emit={emit} />
      </div>
    </div>
  );
}
