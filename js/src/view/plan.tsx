// The agent's plan as a checklist.

import type { PlanItem } from "../types";
import { line, spoken } from "./words";

const MARKS: Record<string, string> = { completed: "✓", in_progress: "▸", pending: "○" };

export function PlanView({ item }: { item: PlanItem }) {
  const entries = item.entries ?? [];
  const done = entries.filter(({ status }) => status === "completed").length;
  return (
    <section class="acp-plan" aria-label="Plan">
      <div class="acp-quiet">Plan{entries.length > 0 && ` · ${done} of ${entries.length}`}</div>
      {entries.length > 0 && (
        <ul>
          {entries.map((entry, at) => (
            <li key={at} data-status={entry.status}>
              <span class="acp-mark" role="img" aria-label={spoken(entry.status)}>
                {MARKS[entry.status] ?? "·"}
              </span>
              {line(entry.content)}
            </li>
          ))}
        </ul>
      )}
      {item.text && <div class="acp-text">{item.text}</div>}
      {item.uri && <div class="acp-path">{line(item.uri)}</div>}
    </section>
  );
}
