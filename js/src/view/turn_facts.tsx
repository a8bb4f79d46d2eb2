// How long a turn took, how many tokens it used and what it cost, as far as that is known.

import type { TurnItem } from "../types";
import { isRunning } from "../turns";
import { duration } from "./elapsed";
import { money, short } from "./usage";

export function TurnFacts({ start }: { start: TurnItem }) {
  const facts = isRunning(start) ? [] : factsOf(start);
  if (facts.length === 0) return null;
  return (
    <span class="acp-tokens" data-acp-facts="" title={details(start)}>
      {facts.join(" · ")}
    </span>
  );
}

/** "12 s", "3.4k tokens", "$0.02": only what the kernel or the agent reports. */
export function factsOf({ seconds = 0, usage, cost }: TurnItem): string[] {
  const { total, input, output } = usage ?? {};
  const used = [
    total !== undefined
      ? `${short(total)} tokens`
      : input !== undefined &&
        output !== undefined &&
        `${short(input)} tokens in, ${short(output)} out`,
    cost !== undefined && cost.amount > 0 && money(cost),
  ].filter((fact) => fact !== false);
  if (seconds >= 1) return [duration(seconds * 1000), ...used];
  return seconds > 0 && used.length > 0 ? ["under 1 s", ...used] : used;
}

const KINDS = [
  ["input", "input"],
  ["output", "output"],
  ["thought", "thinking"],
  ["cached_read", "read from the cache"],
  ["cached_write", "written to the cache"],
] as const;

function details({ usage }: TurnItem): string | undefined {
  const known = KINDS.flatMap(([name, word]) => {
    const count = usage?.[name];
    return count === undefined ? [] : [`${short(count)} ${word}`];
  });
  return known.length > 0 ? `Tokens: ${known.join(", ")}` : undefined;
}
