// The agent, the status of the session, and the settings.

import type { Sent } from "../store";
import type { Header } from "../types";
import { usePanel } from "./panel";
import { Settings } from "./settings";
import { UsageMeter } from "./usage";
import { line, spoken } from "./display_text";

interface Props {
  header: Header;
  sent: ReadonlyMap<string, Sent>;
  /** Whether the list of sessions is open, and how it is opened and closed. */
  picking: boolean;
  pick: () => void;
}

/** Agents that offer one of these get the list of sessions. */
const LISTED = ["list", "fork", "logout"];

export function HeaderView({ header, sent, picking, pick }: Props) {
  const { link } = usePanel();
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
        {agent?.offers?.some((offer) => LISTED.includes(offer)) && (
          <button type="button" data-acp-sessions="" aria-expanded={picking} onClick={pick}>
            Sessions
          </button>
        )}
        <UsageMeter usage={header.usage} />
        <Settings header={header} disabled={link !== "live"} sent={sent} />
      </div>
    </div>
  );
}
