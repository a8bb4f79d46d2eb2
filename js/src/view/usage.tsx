// How full the agent's context is, and what the session has cost so far.

import type { Usage } from "../types";
import { line } from "./display_text";

/** From this share on the agent will soon have to compact its context. */
const HIGH = 0.8;

export function UsageMeter({ usage }: { usage: Usage | null | undefined }) {
  if (!usage) return null;
  const { used, size, cost } = usage;
  const share = used !== undefined && size ? Math.min(1, Math.max(0, used / size)) : null;
  return (
    <span class="acp-usage" data-acp-usage={share === null ? "" : Math.round(share * 100)}>
      {share !== null && (
        <span
          class="acp-meter"
          role="meter"
          aria-label="Context used"
          aria-valuemin={0}
          aria-valuemax={size}
          aria-valuenow={used}
          aria-valuetext={`${percent(share)} of ${short(size ?? 0)} tokens`}
          title={`${short(used ?? 0)} of ${short(size ?? 0)} tokens of context`}
          data-high={share >= HIGH}
        >
          <span style={{ width: percent(share) }} />
        </span>
      )}
      {share !== null ? (
        <span aria-hidden="true">{percent(share)}</span>
      ) : (
        used !== undefined && <span>{short(used)} tokens</span>
      )}
      {cost && <span title="Cost of the session so far">{money(cost)}</span>}
    </span>
  );
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

export function short(count: number): string {
  if (count < 1000) return String(count);
  const [value, unit] = count < 1e6 ? [count / 1e3, "k"] : [count / 1e6, "M"];
  return `${value < 10 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}${unit}`;
}

const SIGNS: Record<string, string> = { USD: "$", EUR: "€", GBP: "£" };

export function money({ amount, currency }: { amount: number; currency: string }): string {
  const digits = amount > 0 && amount < 0.1 ? 4 : 2;
  const sign = SIGNS[currency];
  return sign ? `${sign}${amount.toFixed(digits)}` : `${amount.toFixed(digits)} ${line(currency)}`;
}
