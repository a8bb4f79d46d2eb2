// The agent picker below a cell that has no session yet.

import { useState } from "preact/hooks";
import type { Emit, PickedMessage } from "../types";
import { AgentPicker } from "./agent_picker";
import { PanelContext, WAITING } from "./panel";
import { line } from "./display_text";

interface Props {
  picked: ReadonlyMap<string, PickedMessage>;
  /** The agent that the cell named; empty: all are offered. */
  agent: string;
  emit: Emit;
  show: (model: string) => void;
}

export function AgentsAlone({ picked, agent, emit, show }: Props) {
  const [open, setOpen] = useState(true);
  return (
    <PanelContext.Provider value={{ ...WAITING, emit, link: "live" }}>
      <div class="acp" data-acp-link="live" data-acp-root="agents">
        {open ? (
          <AgentPicker
            picked={picked}
            only={agent || null}
            show={show}
            close={() => setOpen(false)}
          />
        ) : (
          <p class="acp-quiet" role="status">
            {agent ? `${line(agent)} was not started.` : "No agent was started."}{" "}
            <button type="button" class="acp-link" onClick={() => setOpen(true)}>
              Show again
            </button>
          </p>
        )}
      </div>
    </PanelContext.Provider>
  );
}
