// The agent is dead, disconnected, restarting, stuck or has lost the session: what is known about it, and what to do.

import type { Sent } from "../store";
import type { Header } from "../types";
import { usePanel } from "./panel";
import { capital, code, line } from "./display_text";

/** Marks the last line of the detail as advice. */
const HINT = "hint: ";

interface Props {
  header: Header;
  sent: Sent | undefined;
  /** Whether it was started again, and failed for the same reason. */
  again?: boolean;
}

/** What is wrong, in a few words; null: nothing. */
export function troubleTitle({ status, agent }: Header): string | null {
  const name = line(agent?.title ?? agent?.name ?? "The agent");
  switch (status) {
    case "restarting":
      return `${name} is restarting…`;
    case "reconnecting":
      return `Reconnecting to ${name}…`;
    case "disconnected":
      return `${name} cannot be reached.`;
    case "stuck":
      return `${name} is not responding.`;
    case "lost":
      return `${name} no longer knows this session.`;
    case "dead":
      return `${name} is not running.`;
    default:
      return null;
  }
}

/** Whether the agent has ended, or its server cannot be reached. */
export const isGone = (status: string | undefined): boolean =>
  status === "dead" || status === "disconnected";

/** Whether a refused request gives the reason that the trouble gives anyway. */
export function repeats(refused: string, { status, detail }: Header): boolean {
  const [first = ""] = (detail ?? "").split("\n");
  return isGone(status) && first !== "" && refused.includes(first);
}

export function Trouble({ header, sent, again = false }: Props) {
  const { link, emit } = usePanel();
  const title = troubleTitle(header);
  if (title === null) return null;
  const dead = header.status === "dead";
  if (!dead && !isGone(header.status) && header.status !== "lost")
    return (
      <div class="acp-banner" data-acp-trouble={header.status}>
        <span>
          {title} {header.detail && <span class="acp-quiet">{line(header.detail)}</span>}
        </span>
      </div>
    );
  if (header.status === "lost") return <Lost {...{ header, title, sent }} />;
  const [first = "", ...rest] = (header.detail ?? "").split("\n");
  const hint = rest.at(-1)?.startsWith(HINT) ? rest.pop() : undefined;
  return (
    <div class="acp-banner" data-severity="error" data-acp-trouble={header.status} role="alert">
      <div class="acp-trouble">
        <strong>{title}</strong> {again && dead && "It was started again, without success: "}
        {first && <span>{again ? line(first) : capital(line(first))}</span>}
        {rest.length > 0 && (
          <pre class="acp-code" tabIndex={0} aria-label="The agent's last output">
            {code(rest.join("\n"))}
          </pre>
        )}
        {hint && (
          <p data-acp-hint="">
            <strong>What to do:</strong> {line(hint.slice(HINT.length))}
          </p>
        )}
      </div>
      <button
        type="button"
        data-acp-restart=""
        disabled={link !== "live" || sent !== undefined}
        onClick={() => emit({ t: "restart" })}
      >
        {sent ? "Starting…" : dead ? "Restart" : "Reconnect"}
      </button>
    </div>
  );
}

function Lost({ header, title, sent }: Props & { title: string }) {
  const { link, emit } = usePanel();
  const [why = ""] = (header.detail ?? "").split("\n");
  const off = link !== "live" || sent !== undefined;
  return (
    <div class="acp-banner" data-severity="error" data-acp-trouble="lost" role="alert">
      <div class="acp-trouble">
        <strong>{title}</strong> {why && <span>{line(why)}</span>}
      </div>
      {header.ways?.includes("load") && (
        <button
          type="button"
          data-acp-reopen="load"
          disabled={off}
          onClick={() => emit({ t: "reopen", new: false })}
        >
          Load again
        </button>
      )}
      <button
        type="button"
        data-acp-reopen="new"
        disabled={off}
        title="The next prompt includes this conversation"
        onClick={() => emit({ t: "reopen", new: true })}
      >
        New session with this conversation
      </button>
    </div>
  );
}
