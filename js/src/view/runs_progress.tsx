// The line above a fan-out's table: how far it is, how long it may take, what it cost, and how to stop it.

import { useState } from "preact/hooks";
import type { Progress, RunsSnapshot } from "../types";
import { line } from "./display_text";
import { duration } from "./elapsed";
import { money } from "./usage";

interface Props {
  progress: Progress;
  link: RunsSnapshot["link"];
  stop: () => void;
}

const ENDINGS = ["done", "failed", "cancelled", "lost", "skipped"];
const ACTIVE = ["preparing", "running", "scoring"];

export function ProgressLine({ progress, link, stop }: Props) {
  const [pressed, setPressed] = useState(false);
  const { total, left, costs, stopped, unpriced, notices } = progress;
  const ended = count(progress, ENDINGS);
  const isOver = ended === total;
  const stopping = stopped !== undefined || pressed;
  const active = count(progress, ACTIVE);
  const paid = Object.entries(costs).map(([currency, amount]) => money({ amount, currency }));
  if (paid.length > 0 && unpriced) paid.push(`${unpriced} without a reported cost`);
  const facts = isOver
    ? [`${number(total)} ${total === 1 ? "run" : "runs"}: ${counted(progress, ENDINGS).join(", ")}`]
    : [
        `${number(ended)} of ${number(total)}`,
        ...(active ? [`${active} running`] : []),
        ...counted(progress, ENDINGS.slice(1)),
        ...(left !== undefined && !stopping ? [`about ${duration(left * 1000)} left`] : []),
      ];
  const why = stopped !== undefined && stopped !== "cancelled" ? [`stopped: ${line(stopped)}`] : [];
  return (
    <>
      {notices.map((notice) => (
        <p key={notice} class="acp-runs-notice acp-quiet">
          {line(notice)}
        </p>
      ))}
      <div class="acp-runs-progress" data-acp-progress={isOver ? "over" : "going"}>
        {!isOver && (
          <span
            class="acp-runs-bar"
            role="progressbar"
            aria-label="Runs that have ended"
            aria-valuemin={0}
            aria-valuemax={total}
            aria-valuenow={ended}
          >
            <span style={{ width: `${(100 * ended) / Math.max(total, 1)}%` }} />
          </span>
        )}
        <span class="acp-runs-counts">{[...facts, ...paid, ...why].join(" · ")}</span>
        <span class="acp-hidden" role="status">
          {isOver ? "All runs have ended" : ""}
        </span>
        {link === "gone" && !isOver && (
          <span class="acp-bad">The kernel is gone, and these runs with it.</span>
        )}
        {!isOver && link !== "gone" && (
          <button
            type="button"
            class="acp-stop acp-danger"
            data-acp-stop=""
            disabled={stopping || link !== "live"}
            onClick={() => {
              setPressed(true);
              stop();
            }}
          >
            {stopping ? "Stopping…" : "Stop"}
          </button>
        )}
      </div>
    </>
  );
}

function number(count: number): string {
  return count.toLocaleString("en");
}

function count({ counts }: Progress, states: readonly string[]): number {
  return states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}

function counted({ counts }: Progress, states: readonly string[]): string[] {
  return states.flatMap((state) => (counts[state] ? [`${number(counts[state])} ${state}`] : []));
}
