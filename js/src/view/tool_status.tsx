// How a tool call goes: a sign, and a word where the sign alone does not say it.

import { spoken } from "./display_text";

export const WAITING = "waiting_for_you";

const MARKS: Record<string, string> = {
  completed: "✓",
  failed: "✕",
  rejected: "⊘",
  cancelled: "⊘",
  stopped: "⊘",
  not_run: "⊘",
  unfinished: "…",
  pending: "○",
  [WAITING]: "?",
};

export function ToolStatus({ status }: { status: string }) {
  const going = status === "in_progress";
  return (
    <span class="acp-state" data-status={status}>
      <span class={going ? "acp-spinner" : "acp-mark"} aria-hidden="true">
        {going ? "" : (MARKS[status] ?? "·")}
      </span>
      <span class={status === "completed" || going ? "acp-hidden" : ""}>{spoken(status)}</span>
    </span>
  );
}
