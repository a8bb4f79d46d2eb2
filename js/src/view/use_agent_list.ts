// The agents that the kernel found, and the request that starts one.

import { useLayoutEffect, useState } from "preact/hooks";
import type { AgentChoice, PickedMessage, StartAgentIntent } from "../types";
import { usePanel } from "./panel";

export interface AgentList {
  readonly agents: readonly AgentChoice[];
  /** Whether a request is under way. */
  readonly pending: boolean;
  /** The agent that is being started. */
  readonly starting: string | null;
  readonly error: string | null;
  start(intent: Omit<StartAgentIntent, "t" | "rid">): void;
}

interface Request {
  readonly rid: string;
  /** The agent that it starts; null: it asks for the list. */
  readonly agent: string | null;
}

let requests = 0;

export function useAgentList(
  picked: ReadonlyMap<string, PickedMessage>,
  onStarted: (model: string) => void,
): AgentList {
  const { link, emit } = usePanel();
  const [agents, setAgents] = useState<readonly AgentChoice[]>([]);
  const [request, setRequest] = useState<Request | null>(null);
  const [error, setError] = useState<string | null>(null);

  const begin = (agent: string | null): string => {
    const rid = `a${++requests}-${Math.random().toString(36).slice(2)}`;
    setRequest({ rid, agent });
    setError(null);
    return rid;
  };
  useLayoutEffect(() => {
    if (link === "live" && agents.length === 0) emit({ t: "agents", rid: begin(null) });
  }, [link]);
  useLayoutEffect(() => {
    const answer = request && picked.get(request.rid);
    if (!answer) return;
    setRequest(null);
    if (answer.error !== undefined) setError(answer.error);
    else if (answer.model !== undefined) onStarted(answer.model);
    else setAgents(answer.agents ?? []);
  }, [picked, request]);
  return {
    agents,
    pending: request !== null,
    starting: request?.agent ?? null,
    error,
    start: (intent) => emit({ t: "start_agent", rid: begin(intent.agent), ...intent }),
  };
}
