// The agent, what the session is doing, who answers its questions, and the buttons of the panel.

import type { Sent } from "../store";
import type { Turn } from "../turns";
import type { Header, SettingsMessage } from "../types";
import { AgentOptions } from "./agent_options";
import { Elapsed } from "./elapsed";
import { HeaderMenu } from "./header_menu";
import type { MenuEntry } from "./header_menu";
import { usePanel } from "./panel";
import { PermissionChip } from "./permission_setting";
import { sessionWords } from "./state_words";
import { UsageMeter } from "./usage";
import { line } from "./display_text";

interface Props {
  header: Header;
  /** The running turn, and when it started. */
  running: Turn | null;
  since: number | null;
  settings: SettingsMessage | null;
  sent: ReadonlyMap<string, Sent>;
  /** Whether the settings are open, and how they are opened and closed. */
  expanded: boolean;
  openSettings: () => void;
  /** The buttons: in the row, or in the menu behind "⋯". */
  entries: readonly MenuEntry[];
}

export function HeaderView(props: Props) {
  const { header, running, since, settings, sent, expanded, openSettings, entries } = props;
  const { link } = usePanel();
  const agent = header.agent;
  const status =
    link === "gone" || link === "offline" ? "disconnected" : (header.status ?? "starting");
  const { text, move, works } = sessionWords(header, link, running);
  const version = agent?.version ? `${agent.name} ${agent.version}` : agent?.name;
  return (
    <div class="acp-header" role="group" aria-label="Session" data-acp-header={status}>
      <div class="acp-who">
        <span class="acp-dot" data-move={move} aria-hidden="true" />
        <span class="acp-title" title={line(version ?? "")}>
          {line(agent?.title ?? agent?.name ?? "Agent")}
        </span>
        {header.title && (
          <span class="acp-session-title" title={line(header.title)}>
            {line(header.title)}
          </span>
        )}
        {/* A running turn announces its own state. */}
        <span class="acp-state" data-move={move} role={running ? undefined : "status"}>
          {text}
        </span>
        {works && since !== null && <Elapsed since={since} />}
      </div>
      <div class="acp-tools">
        <UsageMeter usage={header.usage} />
        <span class="acp-often">
          <AgentOptions header={header} disabled={link !== "live"} sent={sent} often />
        </span>
        {settings && <PermissionChip settings={settings} expanded={expanded} open={openSettings} />}
        <HeaderMenu entries={entries} />
      </div>
    </div>
  );
}
