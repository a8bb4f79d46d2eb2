// The settings of the session, below the header: permissions and what was allowed, the agent's own options, MCP
// servers, kernel tools and undo.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Sent } from "../store";
import type { Header, SettingsMessage, ShownGrant, ShownServer } from "../types";
import { AgentOptions, hasOptions } from "./agent_options";
import { Icon } from "./icons";
import { usePanel } from "./panel";
import { PermissionChoices } from "./permission_setting";
import { line } from "./display_text";

interface Props {
  header: Header;
  settings: SettingsMessage | null;
  sent: ReadonlyMap<string, Sent>;
  close: () => void;
}

export function Settings({ header, settings, sent, close }: Props) {
  const { link, emit } = usePanel();
  const box = useRef<HTMLElement>(null);
  const off = link !== "live" || header.status === "closed";
  useLayoutEffect(() => {
    emit({ t: "settings" }); // grants also change elsewhere
    box.current?.focus({ preventScroll: true });
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  return (
    <section
      class="acp-settings"
      ref={box}
      tabIndex={-1}
      role="group"
      aria-label="Settings"
      data-acp-settings-open=""
      onKeyDown={onKeyDown}
    >
      <button
        type="button"
        class="acp-ghost acp-settings-close"
        aria-label="Close the settings"
        onClick={close}
      >
        <Icon name="close" />
      </button>
      {settings && (
        <>
          <PermissionChoices settings={settings} sent={sent.get("permissions")} off={off} />
          <Grants grants={settings.grants} sent={sent} off={off} />
        </>
      )}
      {hasOptions(header) && (
        <Group title="The agent's own settings">
          <AgentOptions header={header} disabled={link !== "live"} sent={sent} />
        </Group>
      )}
      {settings && <Servers servers={settings.servers} />}
      <Group title="In this session">
        {header.kernel_tools !== undefined && (
          <Switch
            hook="data-acp-kernel-tools"
            name="Kernel tools"
            about="The agent can look at your variables and this notebook. Running code and changing cells needs your permission."
            on={header.kernel_tools}
            wanted={onOf(sent.get("tools"))}
            disabled={off}
            set={(on) => emit({ t: "tools", on })}
          />
        )}
        {settings && (
          <Switch
            hook="data-acp-undo"
            name="Undo"
            about="Checkpoints before and after each turn let you undo what it changed."
            on={settings.undo}
            wanted={onOf(sent.get("checkpoints"))}
            disabled={off || !settings.switches_undo}
            set={(on) => emit({ t: "checkpoints", on })}
          />
        )}
      </Group>
    </section>
  );
}

function Group({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <fieldset class="acp-settings-group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}

function onOf(sent: Sent | undefined): boolean | undefined {
  const intent = sent?.intent;
  return intent?.t === "tools" || intent?.t === "checkpoints" ? intent.on : undefined;
}

interface SwitchProps {
  hook: string;
  name: string;
  about: string;
  on: boolean;
  /** What was asked for and is not confirmed. */
  wanted: boolean | undefined;
  disabled: boolean;
  set: (on: boolean) => void;
}

function Switch({ hook, name, about, on, wanted, disabled, set }: SwitchProps) {
  const pending = wanted !== undefined;
  return (
    <label class="acp-check" data-pending={pending}>
      <input
        type="checkbox"
        {...{ [hook]: "" }}
        checked={wanted ?? on}
        disabled={disabled || pending}
        onChange={({ currentTarget }) => set(currentTarget.checked)}
      />
      <span>
        {name} <span class="acp-quiet">{about}</span>
      </span>
    </label>
  );
}

interface GrantsProps {
  grants: readonly ShownGrant[];
  sent: ReadonlyMap<string, Sent>;
  off: boolean;
}

function Grants({ grants, sent, off }: GrantsProps) {
  const { emit } = usePanel();
  return (
    <Group title="Allowed without asking">
      {grants.length === 0 && <span class="acp-quiet">Nothing is remembered.</span>}
      <ul class="acp-grants">
        {grants.map(({ id, allows, holds, since }) => (
          <li key={id} data-acp-grant={id}>
            <span>
              {line(allows)}{" "}
              <span class="acp-quiet">
                {line(holds)}
                {since && `, since ${dateOf(since)}`}
              </span>
            </span>
            <button
              type="button"
              aria-label={`Revoke: ${line(allows)}`}
              disabled={off || sent.has(`revoke:${id}`)}
              onClick={() => emit({ t: "revoke", grant: id })}
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
    </Group>
  );
}

function dateOf(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return line(text);
  return date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

function Servers({ servers }: { servers: readonly ShownServer[] }) {
  if (servers.length === 0) return null;
  return (
    <Group title="MCP servers">
      <ul class="acp-grants">
        {servers.map(({ name, type, where, own }) => (
          <li key={name} data-acp-server={name}>
            <span>
              {line(name)}{" "}
              <span class="acp-quiet">
                {type === "stdio" ? "command" : line(type)} {line(where)},{" "}
                {own ? "from your settings" : "from mcp_servers="}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </Group>
  );
}
