// The agent is dead, is started again, does not listen or has lost the session: what is known of it, and what
// can be done.

import type { Sent } from "../store";
import type { Emit, Header } from "../types";
import { code, line } from "./words";

/** How the kernel marks what to do about it: the last line. */
const HINT = "hint: ";

interface Props {
  header: Header;
  live: boolean;
  sent: Sent | undefined;
  emit: Emit;
}

export function Trouble({ header, live, sent, emit }: Props) {
  const name = line(header.agent?.title ?? header.agent?.name ?? "The agent");
  if (header.status === "restarting" || header.status === "stuck")
    return (
      <div class="acp-banner" data-acp-trouble={header.status}>
        <span>
          {header.status === "restarting" ? `${name} is started again…` : `${name} does not listen`}
          {header.detail && <span class="acp-quiet">: {line(header.detail)}</span>}
        </span>
      </div>
    );
  if (header.status === "lost") return <Lost {...{ header, name, live, sent, emit }} />;
  if (header.status !== "dead") return null;
  const [first = "", ...rest] = (header.detail ?? "").split("\n");
  const hint = rest.at(-1)?.startsWith(HINT) ? rest.pop() : undefined;
  return (
    <div class="acp-banner" data-severity="error" data-acp-trouble="dead" role="alert">
      <div class="acp-trouble">
        <strong>{name} is not running.</strong> {first && <span>{line(first)}</span>}
        {rest.length > 0 && (
          <pre class="acp-code" tabIndex={0} aria-label="The agent's last words">
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
        disabled={!live || sent !== undefined}
        onClick={() => emit({ t: "restart" })}
      >
        {sent ? "Starting…" : "Restart"}
      </button>
    </div>
  );
}

function Lost({ header, name, live, sent, emit }: Props & { name: string }) {
  const [why = ""] = (header.detail ?? "").split("\n");
  const off = !live || sent !== undefined;
  return (
    <div class="acp-banner" data-severity="error" data-acp-trouble="lost" role="alert">
      <div class="acp-trouble">
        <strong>{name} does not know this session any more.</strong>{" "}
        {why && <span>{line(why)}</span>}
      </div>
      {header.ways?.includes("load") && (
        <button
          type="button"
          data-acp-reopen="load"
          disabled={off}
          onClick={() => emit({ t: "reopen", new: false })}
        >
          Load it again
        </button>
      )}
      <button
        type="button"
        data-acp-reopen="new"
        disabled={off}
        title="The next prompt takes this conversation along"
        onClick={() => emit({ t: "reopen", new: true })}
      >
        New session with this conversation
      </button>
    </div>
  );
}
