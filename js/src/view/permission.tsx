// A permission question: what an allow covers, one button per answer, and afterwards who answered and how.
//
// Keys: the digit of an answer chooses it, Enter takes "allow once" and nothing that lasts, Escape rejects;
// only while the question has the focus, and neither keys nor clicks in its first moment: what was meant
// for something else must not answer it, and the question says so.

import { useRef } from "preact/hooks";
import type { Sent } from "../store";
import type { Answer, Emit, QuestionItem, ToolItem } from "../types";
import { Actions, CoveredActions } from "./actions";
import { useGuard, useIgnored, useReady } from "./guard";
import { line, spoken, titleOf } from "./words";

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
  const guard = useGuard(box);
  const ready = useReady();
  const [ignored, setIgnored] = useIgnored();
  const chosen = sent?.intent.t === "answer" ? sent.intent.option : undefined;
  const answers = answersOf(item);
  const usable = live && chosen === undefined;

  const choose = (option: string) => {
    if (!usable) return;
    setIgnored("");
    box.current?.focus({ preventScroll: true }); // the button is off in a moment, and would lose it
    emit({ t: "answer", question: item.key, option });
  };
  const byKey = (event: KeyboardEvent) => {
    const answer = answerOf(event, answers, event.target === box.current);
    if (answer === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has its own use for these keys
    const why = guard.key();
    if (why !== null && usable) setIgnored(`Key ignored: ${why}. Press it again.`);
    else if (!event.repeat) choose(answer);
  };
  const byClick = (event: MouseEvent, answer: string) => {
    const why = guard.click(event);
    if (why === null) choose(answer);
    else setIgnored(`Click ignored: ${why}. Click again.`);
  };
  // A kernel that makes the answers describes what it can, too.
  const actions = item.actions ?? (item.answers ? [] : undefined);
  const count = actions?.filter(({ type }) => type !== "details").length ?? 0;
  const asks = count > 1 ? `Allow these ${count} actions?` : "Allow this?";
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
        <span role="status">{inside ? asks : "The agent asks for permission"}</span>
        {!inside && about !== "this" && <span class="acp-title"> {about}</span>}
      </div>
      {actions && <Actions actions={actions} />}
      <div class="acp-options">
        {answers.map(({ id, name, meaning, key, note }) => (
          <button
            key={id}
            type="button"
            class="acp-option"
            data-acp-option={id}
            data-kind={item.options.find((option) => option.id === id)?.kind ?? meaning}
            data-meaning={meaning}
            title={TITLES[meaning]}
            aria-pressed={chosen === id}
            aria-keyshortcuts={[key, SHORTCUTS[meaning]].filter(Boolean).join(" ") || undefined}
            aria-disabled={!ready || undefined}
            disabled={!usable}
            onPointerEnter={guard.entered}
            onClick={(event) => byClick(event, id)}
          >
            {key !== undefined && (
              <kbd class="acp-key" aria-hidden="true">
                {key}
              </kbd>
            )}
            <span class="acp-answer">
              {line(name)}
              {note !== undefined && <span class="acp-answer-note">{line(note)}</span>}
            </span>
          </button>
        ))}
      </div>
      <div class="acp-ignored" role="status">
        {ignored}
      </div>
      {chosen !== undefined && <Delivery slow={sent?.slow ?? false} what="answer" />}
    </div>
  );
}

const TITLES: Record<string, string> = {
  allow_once: "Allow what is shown, once (Enter)",
  allow_session: "Allow it, and do not ask again in this session",
  allow_always: "Allow it, and do not ask again, in later sessions either",
  reject: "Reject it (Escape)",
  agent_always: "Allow it, and the agent does not ask again",
};

const SHORTCUTS: Record<string, string> = { allow_once: "Enter", reject: "Escape" };

/** What a key answers; undefined: it is not for the question. A button takes its own Enter. */
function answerOf(
  event: KeyboardEvent,
  answers: readonly Answer[],
  onBox: boolean,
): string | undefined {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || event.isComposing)
    return undefined;
  const meant = (meaning: string) => answers.find((answer) => answer.meaning === meaning)?.id;
  if (/^[1-9]$/.test(event.key)) return answers.find(({ key }) => key === event.key)?.id;
  if (event.key === "Escape") return meant("reject");
  return event.key === "Enter" && onBox ? meant("allow_once") : undefined;
}

/** Kinds of options that older versions of the kernel left to the page. */
const MEANINGS: Record<string, string> = {
  allow_once: "allow_once",
  allow_always: "agent_always",
  reject_once: "reject",
};

/** The kernel's; of an older one, the agent's options and then ours, in that order. */
function answersOf({ answers, options, offers = [] }: QuestionItem): readonly Answer[] {
  if (answers) return answers;
  const all = [
    ...options.map(({ id, name, kind }) => ({ id, name, meaning: MEANINGS[kind] ?? "other" })),
    ...offers.map(({ id, name }) => ({ id, name, meaning: "allow_session" })),
  ];
  return all.map((answer, at) => (at < 9 ? { ...answer, key: `${at + 1}` } : answer));
}

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
  const name = line(item.chosen ?? (option ?? offer)?.name ?? item.answer ?? "");
  const meaning = option ? MEANINGS[option.kind] : offer && "allow_session";
  return (
    <div class="acp-settled" data-acp-question={item.key} data-status={item.status}>
      {about !== null && <span class="acp-title">{about}: </span>}
      {item.status === "answered" ? (
        <strong data-meaning={meaning}>{name}</strong>
      ) : (
        <span>{spoken(item.status)}</span>
      )}
      {item.by && <span class="acp-quiet"> by {BY[item.by] ?? spoken(item.by)}</span>}
      {offer && !item.answers && <span class="acp-badge">{spoken(offer.scope)}</span>}
      {item.reason && <span class="acp-quiet">: {line(item.reason)}</span>}
      {item.actions && <CoveredActions actions={item.actions} />}
    </div>
  );
}
