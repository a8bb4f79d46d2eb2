// A permission question: one button per option, and afterwards who answered and how. An option of a kind
// that we do not know is shown like any other and never set off as an allow.
//
// Keys: 1 to 9 choose, Enter takes the first "allow once", Escape "reject once"; only while the question
// has the focus, and not in its first moment: what was typed for something else must not answer it.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Sent } from "../store";
import type { Emit, Option, QuestionItem, ToolItem } from "../types";
import { focused, inSight, isTyping } from "./focus";
import { line, spoken, titleOf } from "./words";

/** Longer than somebody who types takes to notice that the keys go elsewhere. */
export const ARM_MS = 600;

interface Props {
  item: QuestionItem;
  tool?: ToolItem | undefined;
  /** It stands in the card of its tool call. */
  inside?: boolean;
  sent: Sent | undefined;
  live: boolean;
  emit: Emit;
}

export function PermissionView(props: Props) {
  const { item, tool, inside } = props;
  const about = tool ? titleOf(tool) : "this";
  if (item.status === "open") return <Open {...props} about={about} />;
  return <Settled item={item} about={inside ? null : about} />;
}

// ---- open

function Open({ item, inside, sent, live, emit, about }: Props & { about: string }) {
  const box = useRef<HTMLDivElement>(null);
  const armed = useKeyboard(box);
  const chosen = sent?.intent.t === "answer" ? sent.intent.option : undefined;
  const answers = [...item.options, ...(item.offers ?? [])];
  const usable = live && chosen === undefined;

  const choose = (option: string) => {
    if (!usable) return;
    box.current?.focus({ preventScroll: true }); // the button is off in a moment, and would lose it
    emit({ t: "answer", question: item.key, option });
  };
  const byKey = (event: KeyboardEvent) => {
    const answer = answerOf(event, item, answers, event.target === box.current);
    if (answer === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has its own use for these keys
    if (!event.repeat && armed()) choose(answer);
  };
  const first = preselected(item.options);
  return (
    <div
      ref={box}
      class="acp-question"
      role="group"
      aria-label={`The agent asks: ${about}`}
      data-acp-question={item.key}
      data-status="open"
      data-lm-suppress-shortcuts="true"
      tabIndex={-1}
      onKeyDown={byKey}
    >
      <div class="acp-asks">
        <span role="status">{inside ? "Allow this?" : "The agent asks for permission"}</span>
        {!inside && about !== "this" && <span class="acp-title"> {about}</span>}
      </div>
      <div class="acp-options">
        {item.options.map((option, at) => (
          <button
            key={at}
            type="button"
            class="acp-option"
            data-acp-option={option.id}
            data-kind={option.kind}
            data-first={option === first}
            title={MEANING[option.kind] ?? spoken(option.kind)}
            aria-pressed={chosen === option.id}
            aria-keyshortcuts={at < 9 ? `${at + 1}` : undefined}
            disabled={!usable}
            onClick={() => choose(option.id)}
          >
            <Key at={at} />
            {line(option.name)}
          </button>
        ))}
      </div>
      {(item.offers?.length ?? 0) > 0 && (
        <div class="acp-offers">
          {item.offers?.map((offer, index) => (
            <button
              key={index}
              type="button"
              class="acp-offer"
              data-acp-option={offer.id}
              data-acp-offer={offer.scope}
              aria-pressed={chosen === offer.id}
              disabled={!usable}
              onClick={() => choose(offer.id)}
            >
              <Key at={item.options.length + index} />
              {line(offer.name)}
            </button>
          ))}
        </div>
      )}
      {chosen !== undefined && <Delivery slow={sent?.slow ?? false} what="answer" />}
    </div>
  );
}

const MEANING: Record<string, string> = {
  allow_once: "Allow, this time",
  allow_always: "Allow, and the agent does not ask again",
  reject_once: "Reject, this time",
  reject_always: "Reject, and the agent does not ask again",
};

function Key({ at }: { at: number }) {
  return at < 9 ? (
    <kbd class="acp-key" aria-hidden="true">
      {at + 1}
    </kbd>
  ) : null;
}

function preselected(options: readonly Option[]): Option | undefined {
  return options.find(({ kind }) => kind === "allow_once");
}

/** What a key answers; undefined: it is not for the question. A button takes its own Enter. */
function answerOf(
  event: KeyboardEvent,
  { options }: QuestionItem,
  answers: readonly { id: string }[],
  onBox: boolean,
): string | undefined {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || event.isComposing)
    return undefined;
  if (/^[1-9]$/.test(event.key)) return answers[Number(event.key) - 1]?.id;
  if (event.key === "Escape") return options.find(({ kind }) => kind === "reject_once")?.id;
  return event.key === "Enter" && onBox ? preselected(options)?.id : undefined;
}

/** Takes the keyboard if nobody uses it, gives it back at the end; tells whether keys count yet. */
export function useKeyboard(box: { current: HTMLDivElement | null }): () => boolean {
  const since = useRef(0);
  useLayoutEffect(() => {
    const mine = box.current;
    if (!mine) return;
    let from: HTMLElement | null = null;
    since.current = performance.now();
    const take = () => {
      const present = focused();
      if (isTyping() || present?.closest("[data-acp-question]") || !inSight(mine)) return false;
      from = present;
      since.current = performance.now();
      mine.focus({ preventScroll: true });
      return true;
    };
    // What is followed comes into sight a frame later.
    let frame = take() ? 0 : requestAnimationFrame(() => (frame = requestAnimationFrame(take)));
    return () => {
      cancelAnimationFrame(frame);
      if (!mine.contains(focused())) return;
      const root = mine.closest(".acp");
      const others = [...(root?.querySelectorAll<HTMLElement>(OPEN) ?? [])];
      const to = others.find((other) => other !== mine) ?? from;
      queueMicrotask(() => to?.isConnected && to.focus({ preventScroll: true }));
    };
  }, []);
  return () => performance.now() - since.current >= ARM_MS;
}

const OPEN = "[data-acp-question][data-status='open']";

/** What has become of something that was sent. */
export function Delivery({ slow, what }: { slow: boolean; what: string }) {
  return (
    <div class="acp-quiet" role="status">
      {slow ? `Kernel busy: your ${what} is delivered when the cell ends.` : "Sending…"}
    </div>
  );
}

// ---- settled

export const BY: Record<string, string> = {
  user: "you",
  policy: "your rules",
  client: "the notebook",
};

function Settled({ item, about }: { item: QuestionItem; about: string | null }) {
  const option = item.options.find(({ id }) => id === item.answer);
  const offer = item.offers?.find(({ id }) => id === item.answer);
  const answer = line((option ?? offer)?.name ?? item.answer ?? "");
  return (
    <div class="acp-settled" data-acp-question={item.key} data-status={item.status}>
      {about !== null && <span class="acp-title">{about}: </span>}
      {item.status === "answered" ? (
        <strong data-kind={option?.kind ?? (offer ? "allow_always" : undefined)}>{answer}</strong>
      ) : (
        <span>{spoken(item.status)}</span>
      )}
      {item.by && <span class="acp-quiet"> by {BY[item.by] ?? spoken(item.by)}</span>}
      {offer && <span class="acp-badge">{spoken(offer.scope)}</span>}
      {item.reason && <span class="acp-quiet">: {line(item.reason)}</span>}
    </div>
  );
}
