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
        <strong>{title}</strong> {line(text)}
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
          onClick={() => emit({ t: "go_on", how })}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
