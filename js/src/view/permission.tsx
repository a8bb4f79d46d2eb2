// A permission question: the actions that it covers, a button per answer, and afterwards who answered and how.
//
// Keys: a digit chooses an answer, 1 and 2 are always "allow once" and "reject"; Enter means "allow once" and nothing
// permanent, even on a button. They work while the question has the focus; digits also in an empty composer, where
// an answer that lasts needs its key twice. Keys and clicks in the first moment are ignored, and the question says so:
// they were meant for something else.

import { useRef } from "preact/hooks";
import type { Sent } from "../store";
import type { Action, Answer, ElicitationItem, QuestionItem, ToolItem } from "../types";
import { Actions, CoveredActions } from "./actions";
import { useAnswerKeys } from "./answer_keys";
import { isComposing } from "./composing";
import { Delivery } from "./delivery";
import { focused } from "./focus";
import { useGuard, useIgnored, useReady } from "./input_guard";
import type { Guard } from "./input_guard";
import { Elsewhere } from "./elsewhere";
import { useInView } from "./in_view";
import { usePanel } from "./panel";
import { useQuestionPlace } from "./place";
import { plainTitle, titleOf } from "./title";
import { line, named, spoken } from "./display_text";

interface Props {
  item: QuestionItem;
  tool?: ToolItem | undefined;
  /** Shown in the card of its tool call. */
  inside?: boolean;
  sent: Sent | undefined;
}

export function PermissionView(props: Props) {
  const { item, tool, inside } = props;
  const { folder } = usePanel();
  const about = tool ? plainTitle(titleOf(tool, folder)) : "this";
  if (item.status === "open") return <Open {...props} about={about} />;
  return <Settled item={item} about={inside ? null : about} />;
}

// ---- open

function Open({ item, inside, sent, about }: Props & { about: string }) {
  const { link, emit } = usePanel();
  const box = useRef<HTMLDivElement>(null);
  const place = useQuestionPlace(item.key, box);
  const { holds } = place;
  const guard = useGuard(box, place);
  const [ignored, setIgnored] = useIgnored();
  const chosen = sent?.intent.t === "answer" ? sent.intent.option : undefined;
  const answers = answersOf(item);
  const usable = link === "live" && chosen === undefined && holds;

  const choose = (option: string) => {
    if (!usable) return;
    setIgnored("");
    guard.answered();
    if (box.current?.contains(focused())) box.current.focus({ preventScroll: true }); // its button is disabled next
    emit({ t: "answer", question: item.key, option });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && isLasting(event.target)) {
      event.preventDefault(); // it would click the button
      event.stopPropagation();
      setIgnored("Enter gives no lasting allow. Press the key of the answer, or Space.");
      return;
    }
    const why = guard.key();
    const answer = answerOf(event, answers, event.target === box.current);
    const stops = event.key === "Escape" && why !== null; // afterwards it stops the turn
    if (answer === undefined && !stops) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has its own shortcuts for these keys
    if (why !== null && usable) setIgnored(`Key ignored: ${why}. Press it again.`);
    else if (!event.repeat && answer !== undefined) choose(answer);
  };
  useAnswerKeys(box, (event) => {
    const answer = answers.find(({ id }) => id === answerOf(event, answers, false));
    if (!answer || !usable || guard.key() !== null) return false; // it was typed
    const again = `Press ${answer.key ?? ""} again: ${line(answer.name)}`;
    if (LASTING.has(answer.meaning) && ignored !== again) setIgnored(again);
    else choose(answer.id);
    return true;
  });
  const click = (event: MouseEvent, answer: string) => {
    const why = guard.click(event);
    if (why === null) choose(answer);
    else setIgnored(`Click ignored: ${why}. Click again.`);
  };
  // A kernel that sends answers describes the actions too, as far as it can.
  const actions = item.actions ?? (item.answers ? [] : undefined);
  return (
    <div
      ref={box}
      class="acp-question"
      role="group"
      aria-label={`${item.who === undefined ? "The agent asks" : line(item.who)}: ${about}`}
      data-acp-question={item.key}
      data-status={holds ? "open" : "elsewhere"}
      data-lm-suppress-shortcuts="true"
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <div class="acp-asks">
        <span role="status">{whoAsks(item, inside ? askText(actions) : null)}</span>
        {!inside && about !== "this" && <span class="acp-title"> {about}</span>}
      </div>
      {actions && <Actions actions={actions} />}
      <Answers {...{ item, answers, chosen, usable, guard, click }} here={holds} />
      <div class="acp-ignored" role="status">
        {ignored}
      </div>
      {chosen !== undefined && <Delivery slow={sent?.slow ?? false} what="answer" />}
      {!holds && <Elsewhere choose={place.choose} />}
    </div>
  );
}

/** With whose question it is, if another session asked for the turn. */
function whoAsks({ who }: QuestionItem, what: string | null): string {
  if (who === undefined) return what ?? "The agent asks for permission";
  return what === null ? `${line(who)}, for permission` : `${line(who)}: ${what}`;
}

function askText(actions: readonly Action[] = []): string {
  const count = actions.filter(({ type }) => type !== "details" && type !== "mcp").length;
  return count > 1 ? `Allow these ${count} actions?` : "Allow this?";
}

interface AnswersProps {
  item: QuestionItem;
  answers: readonly Answer[];
  chosen: string | undefined;
  usable: boolean;
  here: boolean;
  guard: Guard;
  click: (event: MouseEvent, answer: string) => void;
}

/** The answers to just this stay in sight while the question is longer than its view; wider ones follow. */
function Answers(props: AnswersProps) {
  const { answers, here } = props;
  const ready = useReady(here);
  const end = useRef<HTMLDivElement>(null);
  const whole = useInView(() => end.current);
  const draw = (answer: Answer) => (
    <AnswerButton key={answer.id} {...{ ...props, answer, ready }} />
  );
  const wider = answers.filter(({ meaning }) => !SAFE.has(meaning));
  return (
    <>
      <div class="acp-options acp-safe">
        {answers.filter(({ meaning }) => SAFE.has(meaning)).map(draw)}
        {!whole && <span class="acp-quiet">The question continues below.</span>}
      </div>
      <div ref={end}>{wider.length > 0 && <div class="acp-options">{wider.map(draw)}</div>}</div>
    </>
  );
}

interface AnswerProps extends AnswersProps {
  answer: Answer;
  ready: boolean;
}

function AnswerButton({ item, answer, chosen, usable, guard, click, ready }: AnswerProps) {
  const { id, name, meaning, key, note } = answer;
  return (
    <button
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
      onClick={(event) => click(event, id)}
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
  );
}

const SAFE: ReadonlySet<string> = new Set(["allow_once", "reject"]);

const TITLES: Record<string, string> = {
  allow_once: "Allow what is shown, once (Enter)",
  allow_session: "Allow it, and do not ask again in this session",
  allow_always: "Allow it, and do not ask again, in later sessions either",
  reject: "Reject what is shown",
  agent_always: "Allow it, and the agent does not ask again",
};

const SHORTCUTS: Record<string, string> = { allow_once: "Enter" };

const LASTING: ReadonlySet<string> = new Set(["allow_session", "allow_always", "agent_always"]);

/** Whether it is the button of an answer that allows more than this once. */
function isLasting(target: EventTarget | null): boolean {
  const button = target instanceof Element ? target.closest<HTMLElement>("[data-meaning]") : null;
  return LASTING.has(button?.dataset.meaning ?? "");
}

/** The answer that a key gives; undefined if it gives none. A button handles its own Enter. */
function answerOf(
  event: KeyboardEvent,
  answers: readonly Answer[],
  onBox: boolean,
): string | undefined {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || isComposing(event))
    return undefined;
  const meant = (meaning: string) => answers.find((answer) => answer.meaning === meaning)?.id;
  if (/^[1-9]$/.test(event.key)) return answers.find(({ key }) => key === event.key)?.id;
  return event.key === "Enter" && onBox ? meant("allow_once") : undefined;
}

/** Kinds of options that older kernels left to the page. */
const MEANINGS: Record<string, string> = {
  allow_once: "allow_once",
  allow_always: "agent_always",
  reject_once: "reject",
};

/** The order of the answers of an older kernel. */
const ORDER = ["allow_once", "reject"];

/** The kernel's answers; of an older kernel, the agent's options and then our offers. */
function answersOf({ answers, options, offers = [] }: QuestionItem): readonly Answer[] {
  if (answers) return answers;
  const all = [
    ...options.map(({ id, name, kind }) => ({ id, name, meaning: MEANINGS[kind] ?? "other" })),
    ...offers.map(({ id, name }) => ({ id, name, meaning: "allow_session" })),
  ];
  const safe = ORDER.map((meaning) => all.find((answer) => answer.meaning === meaning));
  const rest = all.filter((answer) => !safe.includes(answer));
  return [...safe, ...rest].flatMap((answer, at) =>
    answer ? [at < 9 ? { ...answer, key: `${at + 1}` } : answer] : [],
  );
}

// ---- settled

const BY: Record<string, string> = {
  user: "you",
  policy: "your rules",
  client: "the notebook",
};

/** " by you", or by a name. */
export function decidedBy({ by = "", person }: QuestionItem | ElicitationItem): string {
  return named(person) || ` by ${BY[by] ?? spoken(by)}`;
}

/** What an answer did, in words that do not depend on how the agent names its options. */
const DID: Record<string, string> = {
  allow_once: "Allowed once",
  allow_session: "Allowed",
  allow_always: "Always allowed",
  agent_always: "Always allowed",
  reject: "Rejected",
};

function Settled({ item: settled, about }: { item: QuestionItem; about: string | null }) {
  const { by, reason } = settled;
  // For the agent, an offer of ours is an "allow once"; the reason is its name.
  const offer = settled.offers?.find(({ name }) => name === reason);
  const item = offer ? { ...settled, answer: offer.id, chosen: offer.name } : settled;
  const meaning = meaningOf(item);
  const name = nameOf(item);
  const before = by === "grant" && meaning !== "reject";
  // The name of our own offer says what is allowed from now on: "Allow all edits in this session".
  const ours = meaning === "allow_session" || meaning === "allow_always";
  const scope = ours && name.replace(/^(?:always )?allow /i, "");
  const more = [scope, reason !== name && reason].filter((it) => it);
  return (
    <div class="acp-settled" data-acp-question={item.key} data-status={item.status}>
      {about !== null && <span class="acp-title">{about}: </span>}
      {item.status === "answered" ? (
        <strong data-meaning={meaning} title={name}>
          {before ? "Allowed" : (DID[meaning] ?? name)}
        </strong>
      ) : (
        <span>{spoken(item.status)}</span>
      )}
      {by && !before && <span class="acp-quiet">{decidedBy(item)}</span>}
      {more.length > 0 && <span class="acp-quiet">: {line(more.join("; "))}</span>}
      {item.actions && <CoveredActions actions={item.actions} />}
    </div>
  );
}

/** What the answer means; empty if that is not known. */
function meaningOf({ answer, answers, options, offers = [] }: QuestionItem): string {
  const given = answers?.find(({ id }) => id === answer)?.meaning;
  const option = options.find(({ id }) => id === answer);
  if (given !== undefined) return given;
  if (option) return MEANINGS[option.kind] ?? "";
  const offer = offers.find(({ id }) => id === answer);
  return offer ? (offer.scope === "session" ? "allow_session" : "allow_always") : "";
}

function nameOf({ answer, chosen, options, offers = [] }: QuestionItem): string {
  const named = [...options, ...offers].find(({ id }) => id === answer);
  return line(chosen ?? named?.name ?? answer ?? "");
}
