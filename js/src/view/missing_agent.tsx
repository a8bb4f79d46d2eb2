// An agent that is not installed: what would be fetched and run, exactly, and what the user can do.

import { useState } from "preact/hooks";
import type { AgentChoice } from "../types";
import { copyText } from "./copy_text";
import { line } from "./display_text";

interface Props {
  agent: AgentChoice;
  busy: boolean;
  /** Lets npx or uvx fetch and run the package; `always`: from now on without asking. */
  run: (always: boolean) => void;
  cancel: () => void;
}

export function MissingAgent({ agent, busy, run, cancel }: Props) {
  const [always, setAlways] = useState(false);
  const [copied, setCopied] = useState("");
  const [launcher = "", ...words] = (agent.way ?? "").split(" ");
  const copy = () =>
    copyText(agent.install).then(
      () => setCopied("Copied."),
      () => setCopied("The browser does not allow copying."),
    );
  return (
    <div class="acp-missing" role="group" aria-label={`${line(agent.name)} is not installed`}>
      <p>
        <strong>{line(agent.title || agent.name)}</strong> is not installed
        {agent.way === null && agent.note ? ` (${line(agent.note)})` : ""}.
        {agent.way !== null && (
          <>
            {" "}
            {line(launcher)} can download the package <code>{line(words.join(" "))}</code> (version:{" "}
            {line(agent.version ?? "unknown")}) and run it on this machine:
          </>
        )}
      </p>
      {agent.way !== null && (
        <pre class="acp-code" tabIndex={0} aria-label="What would be run">
          <code>{line(agent.runs)}</code>
        </pre>
      )}
      {agent.install !== "" && (
        <p class="acp-quiet">
          To install it: <code>{line(agent.install)}</code>
        </p>
      )}
      <div class="acp-missing-buttons">
        {agent.way !== null && (
          <button
            type="button"
            class="acp-primary"
            data-acp-run-package=""
            disabled={busy}
            onClick={() => run(always)}
          >
            Run with {line(launcher)}
          </button>
        )}
        {agent.install !== "" && (
          <button type="button" data-acp-copy-install="" onClick={() => void copy()}>
            Copy install command
          </button>
        )}
        <button type="button" data-acp-cancel-agent="" onClick={cancel}>
          Cancel
        </button>
        {agent.way !== null && (
          <label>
            <input
              type="checkbox"
              checked={always}
              onChange={({ currentTarget }) => setAlways(currentTarget.checked)}
            />{" "}
            Always run this package without asking
          </label>
        )}
        <span role="status">{copied}</span>
      </div>
    </div>
  );
}
