// The earlier conversation of the panel's cell, and what can be done with it.

import type { Sent } from "../store";
import type { GoingOnMessage } from "../types";
import { code, line } from "./display_text";
import { usePanel } from "./panel";

interface Props {
  offer: GoingOnMessage;
  sent: Sent | undefined;
}

export function GoingOn({ offer, sent }: Props) {
  const { link, emit } = usePanel();
  const { title, text, quoted, ways } = offer;
  if (link !== "live" || ways.length === 0) return null;
  return (
    <div class="acp-banner" data-acp-going-on="" role="group" aria-label={title}>
      <div class="acp-trouble">
        <strong>{title}</strong> <span role="status">{line(text)}</span>
        {quoted && (
          <details>
            <summary>What would be sent to a new session</summary>
            <pre class="acp-code" tabIndex={0} aria-label="The conversation">
              {code(quoted)}
            </pre>
          </details>
        )}
      </div>
      {ways.map(({ how, label }) => (
        <button
          type="button"
          key={how}
          data-acp-go-on={how}
          disabled={sent !== undefined}
          onClick={({ currentTarget }) => {
            focusField(currentTarget);
            emit({ t: "go_on", how });
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** After any choice a prompt comes next, and the button is about to go. */
function focusField(button: HTMLElement): void {
  const field = "textarea[aria-label='Prompt for the agent']";
  button.closest(".acp")?.querySelector<HTMLElement>(field)?.focus();
}
