// How a turn stands, in one line that stays in sight, and the button that stops it.

import type { Link, Sent } from "../store";
import { isRunning, turnId } from "../turns";
import type { Emit, TurnItem } from "../types";
import { Delivery } from "./permission";
import { line, spoken, stopReason } from "./words";

interface Props {
  start: TurnItem;
  asking: boolean;
  sent: Sent | undefined;
  link: Link;
  emit: Emit;
}

export function StatusLine({ start, asking, sent, link, emit }: Props) {
  if (start.status === "history") return null;
  const running = isRunning(start);
  return (
    <div class="acp-status" data-status={start.status} data-sticky={running}>
      <span role="status">{statusText(start, asking, link)}</span>
      {sent && running && <Delivery slow={sent.slow} what="stop" />}
      {running && (
        <StopButton
          turn={turnId(start)}
          disabled={link !== "live" || sent !== undefined || start.cancelling === true}
          emit={emit}
        />
      )}
    </div>
  );
}

export function StopButton(props: { turn: string; disabled: boolean; emit: Emit }) {
  return (
    <button
      type="button"
      class="acp-stop"
      data-acp-stop={props.turn}
      disabled={props.disabled}
      aria-label="Stop this turn"
      onClick={() => props.emit({ t: "cancel", turn: props.turn })}
    >
      Stop
    </button>
  );
}

function statusText(start: TurnItem, asking: boolean, link: Link): string {
  switch (start.status) {
    case "running":
      if (link === "gone") return "Interrupted: the kernel is gone";
      if (start.cancelling) return "Stopping…";
      return asking ? "Waiting for your answer" : "Working…";
    case "done":
      return stopReason(start.stop_reason);
    case "failed":
      return `Failed: ${line(start.error ?? "no reason given")}`;
    case "abandoned":
      return `Abandoned: ${line(start.error ?? "the agent did not end this turn")}`;
    default:
      return spoken(start.status);
  }
}
