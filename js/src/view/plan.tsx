// The agent's plan as a checklist, with its progress.

import type { PlanItem } from "../types";
import { line, spoken } from "./display_text";

const MARKS: Record<string, string> = { completed: "✓", in_progress: "▸", pending: "○" };

export function PlanView({ item }: { item: PlanItem }) {
  const entries = item.entries ?? [];
  const done = entries.filter(({ status }) => status === "completed").length;
  return (
    <div
      class="acp-plan"
      role="group"
      aria-label="Plan"
      data-acp-plan={`${done}/${entries.length}`}
    >
      <div class="acp-plan-head">
        <span class="acp-title">Plan</span>
        {entries.length > 0 && (
          <>
            <progress max={entries.length} value={done} aria-label="Plan progress" />
            <span class="acp-quiet">
              {done} of {entries.length}
            </span>
          </>
        )}
      </div>
      {entries.length > 0 && (
        <ul>
          {entries.map((entry, at) => (
            <li key={at} data-status={entry.status}>
              <span class="acp-mark" aria-hidden="true">
                {MARKS[entry.status] ?? "·"}
              </span>
              <span>
                <span class="acp-hidden">{spoken(entry.status)}: </span>
                {line(entry.content)}
                {entry.priority === "high" && (
                  <span class="acp-badge" data-priority="high">
                    high
                  </span>
                )}
                {entry.priority === "low" && <span class="acp-badge">low</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
      {item.text && <div class="acp-text">{item.text}</div>}
      {item.uri && <div class="acp-path">{line(item.uri)}</div>}
    </div>
  );
}
