// The agents that can be started: known ones and the user's own, installed or not. Starting one opens a session
// in this place.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AgentChoice, PickedMessage } from "../types";
import { Icon } from "./icons";
import { MissingAgent } from "./missing_agent";
import { usePanel } from "./panel";
import { code, line } from "./display_text";
import { useAgentList } from "./use_agent_list";

interface Props {
  /** The kernel's answers, by request. */
  picked: ReadonlyMap<string, PickedMessage>;
  /** The agent that the user named, and that is missing; null: offer all. */
  only?: string | null;
  /** Shows the panel of the session that was opened, by its model. */
  show: (model: string) => void;
  close: () => void;
}

export function AgentPicker({ picked, only = null, show, close }: Props) {
  const { link } = usePanel();
  const box = useRef<HTMLElement>(null);
  const [asked, setAsked] = useState<string | null>(only);
  const list = useAgentList(picked, show);
  const rows = only === null ? list.agents : list.agents.filter(({ name }) => name === only);
  const busy = link !== "live" || list.pending;
  const stopAsking = () => (only === null ? setAsked(null) : close());
  const start = (agent: AgentChoice, always = false) =>
    list.start({ agent: agent.name, way: agent.way, always });
  useLayoutEffect(() => {
    if (only === null) box.current?.focus({ preventScroll: true });
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    asked === null ? close() : stopAsking();
  };
  return (
    <section
      ref={box}
      class="acp-picker acp-agents"
      role="group"
      aria-label="Agents"
      tabIndex={-1}
      data-acp-agent-picker=""
      onKeyDown={onKeyDown}
    >
      {only === null && (
        <div class="acp-picker-bar">
          <span class="acp-title">Agents</span>
          <span class="acp-quiet">A new session opens here.</span>
          <button
            type="button"
            class="acp-ghost"
            aria-label="Close the list"
            title="Close"
            onClick={close}
          >
            <Icon name="close" />
          </button>
        </div>
      )}
      {list.error !== null && (
        <p class="acp-bad acp-agents-error" role="alert">
          {code(list.error)}
        </p>
      )}
      <ul class="acp-agents-list">
        {rows.map((agent) => (
          <li key={agent.name} data-acp-agent={agent.name} data-found={agent.found !== ""}>
            {asked === agent.name ? (
              <MissingAgent
                agent={agent}
                busy={busy}
                run={(always) => start(agent, always)}
                cancel={stopAsking}
              />
            ) : (
              <AgentRow
                agent={agent}
                busy={busy}
                start={() => start(agent)}
                ask={() => setAsked(agent.name)}
              />
            )}
          </li>
        ))}
      </ul>
      <p class="acp-quiet" role="status">
        {list.starting !== null
          ? `Starting ${line(list.starting)}…`
          : list.pending
            ? "Looking for agents…"
            : ""}
      </p>
    </section>
  );
}

interface RowProps {
  agent: AgentChoice;
  busy: boolean;
  start: () => void;
  /** Asks the user how to run an agent that is not installed. */
  ask: () => void;
}

function AgentRow({ agent, busy, start, ask }: RowProps) {
  const found = agent.found !== "";
  const about = found ? agent.found : agent.note || "not installed";
  return (
    <>
      <span class="acp-picker-title">
        {line(agent.name)} <span class="acp-quiet">{line(agent.title)}</span>
      </span>
      {agent.version && <span class="acp-quiet">{line(agent.version)}</span>}
      <span class="acp-quiet acp-agents-about" title={line(about)}>
        {line(about)}
      </span>
      {found ? (
        <button
          type="button"
          disabled={busy}
          aria-label={`Start ${line(agent.name)}`}
          onClick={start}
        >
          Start
        </button>
      ) : (
        (agent.way !== null || agent.install !== "") && (
          <button type="button" aria-label={`Get ${line(agent.name)}`} onClick={ask}>
            Get…
          </button>
        )
      )}
    </>
  );
}
