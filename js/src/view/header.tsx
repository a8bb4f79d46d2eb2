// The agent, the status of the session, and the buttons of the panel.

import type { Sent } from "../store";
import type { Header } from "../types";
import { HeaderMenu } from "./header_menu";
import type { MenuEntry } from "./header_menu";
import { usePanel } from "./panel";
import { Settings } from "./settings";
import { UsageMeter } from "./usage";
import { line, spoken } from "./display_text";

interface Props {
  header: Header;
  sent: ReadonlyMap<string, Sent>;
  /** The buttons: in the row, or in the menu behind "⋯". */
  entries: readonly MenuEntry[];
}

export function HeaderView({ header, sent, entries }: Props) {
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
        <UsageMeter usage={header.usage} />
        <Settings header={header} disabled={link !== "live"} sent={sent} />
        <HeaderMenu entries={entries} />
      </div>
    </div>
  );
}
