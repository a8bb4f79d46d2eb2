// The status of a turn in one line that stays in sight: what happens now, for how long, and the stop button.

import { useRef } from "preact/hooks";
import type { Link, Sent } from "../store";
import { isAsking, isRunning, turnId } from "../turns";
import type { Item, RateLimit, TurnItem } from "../types";
import { activityOf } from "./activity";
import { Delivery } from "./delivery";
import { Countdown, Elapsed } from "./elapsed";
import { Icon } from "./icons";
import { usePanel } from "./panel";
import { useOnce } from "./place";
import { short } from "./usage";
import { line, reason, spoken, stopReason } from "./display_text";

interface Props {
  start: TurnItem;
  items: readonly Item[];
  since: number | null;
  sent: Sent | undefined;
  /** Shown while the end is out of sight. */
  toNewest: (() => void) | null;
  stop: boolean;
}

export function StatusLine(props: Props) {
  const { start, items, since, sent, toNewest, stop } = props;
  const { link, emit } = usePanel();
  const box = useRef<HTMLDivElement>(null);
  const running = isRunning(start);
  const once = useOnce(running && stop ? `stop:${turnId(start)}` : null, () => box.current);
  if (start.status === "history") return null;
  const working = running && link !== "gone";
  const asking = isAsking(items);
  const limited = start.rate_limit ?? null;
  const quiet = working && !asking && !start.cancelling && limited === null;
  return (
    <div
      ref={box}
      class="acp-status"
      data-status={start.status}
      data-sticky={running}
      data-asking={asking}
    >
      <span class="acp-pulse" aria-hidden="true" data-going={working && !asking} />
      <span class={quiet ? "acp-hidden" : "acp-status-text"} role="status">
        {statusText(start, asking, link)}
      </span>
      {quiet && <span class="acp-status-text acp-activity">{activityOf(items)}</span>}
      {limited?.until !== undefined && !start.cancelling && start.status !== "done" && (
        <Countdown until={limited.until} wait={limited.wait ?? 0} />
      )}
      {working && since !== null && limited === null && <Elapsed since={since} />}
      {!running && start.usage?.["total"] !== undefined && (
        <span class="acp-tokens">{short(start.usage["total"])} tokens</span>
      )}
      {sent && running && <Delivery slow={sent.slow} what="stop" />}
      <span class="acp-status-buttons">
        {asking && working && <ToQuestion />}
        {limited !== null && start.status === "failed" && link !== "gone" && (
          <button
            type="button"
            data-acp-again=""
            disabled={link !== "live" || sent !== undefined}
            onClick={() => emit({ t: "again", turn: turnId(start) })}
          >
            Try again
          </button>
        )}
        {toNewest && !asking && (
          <button type="button" class="acp-ghost" data-acp-newest="" onClick={toNewest}>
            <Icon name="down" /> Newest
          </button>
        )}
        {running && once.holds && (
          <StopButton
            turn={turnId(start)}
            disabled={link !== "live" || sent !== undefined || start.cancelling === true}
          />
        )}
      </span>
    </div>
  );
}

function ToQuestion() {
  const go = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    const turn = currentTarget.closest(".acp-turn");
    turn?.querySelector<HTMLElement>("[data-acp-answer-here]")?.click();
    const question = turn?.querySelector<HTMLElement>(
      "[data-acp-question]:is([data-status='open'], [data-status='elsewhere'])",
    );
    question?.scrollIntoView({ block: "center" });
    question?.focus({ preventScroll: true });
  };
  return (
    <button type="button" class="acp-ghost" data-acp-to-question="" onClick={go}>
      Show the question
    </button>
  );
}

function StopButton(props: { turn: string; disabled: boolean }) {
  const { emit } = usePanel();
  return (
    <button
      type="button"
      class="acp-stop"
      data-acp-stop={props.turn}
      disabled={props.disabled}
      aria-label="Stop this turn"
      onClick={() => emit({ t: "cancel", turn: props.turn })}
    >
      <Icon name="stop" /> Stop
    </button>
  );
}

export function statusText(start: TurnItem, asking: boolean, link: Link): string {
  switch (start.status) {
    case "running":
      if (link === "gone") return "Interrupted: the kernel is gone";
      if (start.cancelling) return start.limit ? `Stopping: ${line(start.limit)}` : "Stopping…";
      if (start.rate_limit) return rateLimitText(start.rate_limit);
      return asking ? "Waiting for your answer" : "Working…";
    case "done":
      return start.limit ? `Stopped: ${line(start.limit)}` : stopReason(start.stop_reason);
    case "failed":
      return `Failed: ${reason((start.error ?? "no reason given").split("\n")[0] ?? "")}`;
    case "abandoned":
      return `Abandoned: ${line(start.limit ?? start.error ?? "the agent did not end this turn")}`;
    default:
      return spoken(start.status);
  }
}

function rateLimitText({ attempt, of }: RateLimit): string {
  return attempt > 0
    ? `Rate limited: retrying soon (${attempt} of ${of})`
    : "Rate limited: the agent is waiting";
}
