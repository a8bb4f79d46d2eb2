// The status of a turn in one line that stays in sight: what happens now, for how long, and the stop button.

import type { Sent } from "../store";
import { isRunning, turnId } from "../turns";
import type { Item, TurnItem } from "../types";
import { activityOf } from "./activity";
import { Delivery } from "./delivery";
import { Countdown, Elapsed } from "./elapsed";
import { Icon } from "./icons";
import { usePanel } from "./panel";
import { isAsking, turnWords } from "./state_words";
import { TryAgain } from "./try_again";
import { TurnFacts } from "./turn_facts";

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
  const { link, folder, signIn } = usePanel();
  if (start.status === "history") return null;
  const running = isRunning(start);
  const working = running && link !== "gone";
  const asking = isAsking(items);
  const { text, move, works } = turnWords(start, items, link, signIn);
  const activity = works ? activityOf(items, folder) : null;
  const limited = start.rate_limit ?? null;
  // That all went well needs no word on the screen.
  const silent = start.status === "done" && !start.limit && start.stop_reason === "end_turn";
  return (
    <div
      class="acp-status"
      data-status={start.status}
      data-sticky={running}
      data-asking={move === "you"}
      data-silent={silent}
    >
      <span class="acp-pulse" aria-hidden="true" data-going={working && move === "agent"} />
      <span class={silent ? "acp-hidden" : "acp-status-text"} role="status">
        {text}
      </span>
      {activity && <span class="acp-activity">{activity}</span>}
      {limited?.until !== undefined && !start.cancelling && start.status !== "done" && (
        <Countdown until={limited.until} wait={limited.wait ?? 0} />
      )}
      {works && since !== null && <Elapsed since={since} />}
      <TurnFacts start={start} />
      {sent && running && <Delivery slow={sent.slow} what="stop" />}
      <span class="acp-status-buttons">
        {asking && working && <ToQuestion />}
        <TryAgain start={start} sent={sent} />
        {toNewest && !asking && (
          <button type="button" class="acp-ghost" data-acp-newest="" onClick={toNewest}>
            <Icon name="down" /> Newest
          </button>
        )}
        {running && stop && (
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
    const question = currentTarget
      .closest(".acp-turn")
      ?.querySelector<HTMLElement>("[data-acp-question][data-status='open']");
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
