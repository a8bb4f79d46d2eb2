// The agent is dead, restarting, stuck or has lost the session: what is known about it, and what to do.

import type { Sent } from "../store";
import type { Header } from "../types";
import { usePanel } from "./panel";
import { code, line } from "./display_text";

/** Marks the last line of the detail as advice. */
const HINT = "hint: ";

interface Props {
  header: Header;
  sent: Sent | undefined;
}

export function Trouble({ header, sent }: Props) {
  const { link, emit } = usePanel();
  const name = line(header.agent?.title ?? header.agent?.name ?? "The agent");
  if (header.status === "restarting" || header.status === "stuck")
    return (
      <div class="acp-banner" data-acp-trouble={header.status}>
        <span>
          {header.status === "restarting" ? `${name} is restarting…` : `${name} is not responding`}
          {header.detail && <span class="acp-quiet">: {line(header.detail)}</span>}
        </span>
      </div>
    );
  if (header.status === "lost") return <Lost {...{ header, name, sent }} />;
  if (header.status !== "dead") return null;
  const [first = "", ...rest] = (header.detail ?? "").split("\n");
  const hint = rest.at(-1)?.startsWith(HINT) ? rest.pop() : undefined;
  return (
    <div class="acp-banner" data-severity="error" data-acp-trouble="dead" role="alert">
      <div class="acp-trouble">
        <strong>{name} is not running.</strong> {first && <span>{line(first)}</span>}
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
        {sent ? "Starting…" : "Restart"}
      </button>
    </div>
  );
}

function Lost({ header, name, sent }: Props & { name: string }) {
  const { link, emit } = usePanel();
  const [why = ""] = (header.detail ?? "").split("\n");
  const off = link !== "live" || sent !== undefined;
  return (
    <div class="acp-banner" data-severity="error" data-acp-trouble="lost" role="alert">
      <div class="acp-trouble">
        <strong>{name} no longer knows this session.</strong> {why && <span>{line(why)}</span>}
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
