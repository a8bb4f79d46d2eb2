// A call of one of the user's functions: its arguments as a small table, and how far it has come.

import { Coloured } from "./code";
import { code, line } from "./display_text";
import { ExactInline, ExactLines } from "./exact_text";

type Argument = readonly [string, string];

/** A longer value is folded on a card. In a question, nothing is. */
const LONG_CHARS = 200;
const PREVIEW_CHARS = 80;

/** On a card. */
export function CallArguments({ given }: { given: readonly Argument[] }) {
  if (given.length === 0) return null;
  return (
    <table class="acp-arguments" aria-label="Arguments">
      <tbody>
        {given.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{line(name)}</th>
            <td>
              {value.length <= LONG_CHARS ? (
                <Json text={value} />
              ) : (
                <details>
                  <summary>{code(`${value.slice(0, PREVIEW_CHARS)}…`)}</summary>
                  <Json text={value} />
                </details>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Json({ text }: { text: string }) {
  return (
    <code>
      <Coloured pieces={[code(text)]} language="json" closed />
    </code>
  );
}

/** In an open question: every character of every value. */
export function ExactArguments({ given }: { given: readonly Argument[] }) {
  if (given.length === 0) return <div class="acp-action-note">Without arguments</div>;
  return (
    <table class="acp-arguments" aria-label="Arguments">
      <tbody>
        {given.map(([name, value], at) => (
          <tr key={at}>
            <th scope="row">
              <ExactInline text={name} />
            </th>
            <td>
              <ExactLines text={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface ProgressProps {
  /** From 0 to 1; undefined: only the text is known. */
  fraction: number | undefined;
  text: string | undefined;
}

export function CallProgress({ fraction, text }: ProgressProps) {
  if (fraction === undefined && !text) return null;
  const percent = fraction === undefined ? undefined : Math.round(fraction * 100);
  return (
    <div class="acp-progress">
      {percent !== undefined && (
        <div
          class="acp-progress-bar"
          role="progressbar"
          aria-label="Progress"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={percent}
        >
          <div style={{ width: `${percent}%` }} />
        </div>
      )}
      {percent !== undefined && <span class="acp-quiet">{percent} %</span>}
      {text && <span class="acp-progress-text">{line(text)}</span>}
    </div>
  );
}
