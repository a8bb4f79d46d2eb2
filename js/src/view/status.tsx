// The status of a turn in one line that stays in sight: what happens now, for how long, and the stop button.

import { useRef } from "preact/hooks";
import type { Sent } from "../store";
import { isAsking, isRunning, turnId } from "../turns";
import type { Item, TurnItem } from "../types";
import { activityOf } from "./activity";
import { bringQuestion } from "./bring";
import { Delivery } from "./delivery";
import { Countdown, Elapsed } from "./elapsed";
import { Icon } from "./icons";
import { useInView } from "./in_view";
import { usePanel } from "./panel";
import { useOnce } from "./place";
import { turnWords } from "./state_words";
import { plainTitle, titleOf } from "./title";
import { TryAgain } from "./try_again";
import { TurnFacts } from "./turn_facts";
import { line } from "./display_text";

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
  const asked = items.find(
    (item) => (item.type === "question" || item.type === "elicitation") && item.status === "open",
  );
  const asking = isAsking(items);
  const place = useRef<HTMLDivElement>(null);
  const inView = useInView(() => questionOf(place.current), asked?.key ?? asking);
  const running = isRunning(start);
  const once = useOnce(running && stop ? `stop:${turnId(start)}` : null, () => place.current);
  if (start.status === "history") return null;
  const working = running && link !== "gone";
  const { text, move, works } = turnWords(start, items, link, signIn);
  const activity = works ? activityOf(items, folder) : null;
  const limited = start.rate_limit ?? null;
  // That all went well needs no word on the screen.
  const silent = start.status === "done" && !start.limit && start.stop_reason === "end_turn";
  return (
    <div
      ref={place}
      class="acp-status"
      data-status={start.status}
      data-sticky={running && !(asking && inView)} // it must not cover the answers
      data-asking={move === "you"}
      data-silent={silent}
    >
      <span class="acp-hidden" aria-live="assertive">
        {asked && working ? askedText(asked, items, folder) : ""}
      </span>
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
        {asking && working && !inView && <ToQuestion />}
        <TryAgain start={start} sent={sent} />
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

/** The first open question of the turn around an element, wherever it can be answered. */
function questionOf(el: HTMLElement | null): HTMLElement | null | undefined {
  return el
    ?.closest(".acp-turn")
    ?.querySelector<HTMLElement>(
      "[data-acp-question]:is([data-status='open'], [data-status='elsewhere'])",
    );
}

function ToQuestion() {
  const go = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    const turn = currentTarget.closest(".acp-turn");
    turn?.querySelector<HTMLElement>("[data-acp-answer-here]")?.click();
    const question = questionOf(currentTarget);
    if (!question) return;
    bringQuestion(question);
    question.focus({ preventScroll: true });
  };
  return (
    <button type="button" class="acp-ghost" data-acp-to-question="" onClick={go}>
      Show the question
    </button>
  );
}

/** For screen readers, wherever the focus is. */
function askedText(asked: Item, items: readonly Item[], folder: string): string {
  if (asked.type === "elicitation") return `The agent asks: ${line(asked.message)}`;
  const about = asked.type === "question" ? asked.tool : null;
  const tool = items.find((item) => item.type === "tool" && item.key === about);
  const what = tool?.type === "tool" ? plainTitle(titleOf(tool, folder)) : "this";
  return `The agent asks for permission: ${what}. 1 allows once, 2 rejects.`;
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
