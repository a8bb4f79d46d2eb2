// An elicitation: a form to fill in, or a link to open. Nothing is opened, fetched or embedded unless the user
// clicks.

import type { ComponentChildren } from "preact";
import { useContext, useEffect, useRef } from "preact/hooks";
import type { Sent } from "../store";
import { isLink } from "../text/links";
import { visible } from "../text/visible";
import type { ElicitAction, ElicitationItem, FormField, FormValues, Json } from "../types";
import { isComposing } from "./composing";
import { Delivery } from "./delivery";
import { FieldView } from "./field";
import { useGuard, useIgnored, useReady } from "./input_guard";
import type { Guard } from "./input_guard";
import { Elsewhere } from "./elsewhere";
import { usePageId } from "./page_id";
import { usePanel } from "./panel";
import { PlaceContext, useQuestionPlace } from "./place";
import { useForm } from "./use_form";
import { decidedBy } from "./permission";
import { capital, line, spoken } from "./display_text";

interface Props {
  item: ElicitationItem;
  sent: Sent | undefined;
}

export function ElicitationView(props: Props) {
  return props.item.status === "open" ? <Open {...props} /> : <Settled item={props.item} />;
}

// ---- open

function Open({ item, sent }: Props) {
  const { link, emit } = usePanel();
  const box = useRef<HTMLDivElement>(null);
  const place = useQuestionPlace(item.key, box);
  const { holds } = place;
  const guard = useGuard(box, place);
  const pending = sent !== undefined && sent.wrong === undefined;
  const usable = link === "live" && !pending && holds;
  const answer = (action: ElicitAction, values?: FormValues) => {
    if (!usable) return;
    guard.answered();
    box.current?.focus({ preventScroll: true }); // the button is about to be disabled, and would lose it
    const said = { t: "elicit", elicitation: item.key, action } as const;
    emit(values ? { ...said, values } : said);
  };
  const ready = useReady(holds);
  const asks = item.who === undefined ? "The agent asks" : line(item.who);
  const inner = { item, here: holds, usable, answer, sent, guard, ready };
  return (
    <div
      ref={box}
      class="acp-question acp-elicitation"
      role="group"
      aria-label={`${asks}: ${line(item.message)}`}
      data-acp-question={item.key}
      data-acp-elicitation={item.mode}
      data-status={holds ? "open" : "elsewhere"}
      data-lm-suppress-shortcuts="true"
      tabIndex={-1}
      // The notebook has its own shortcuts; Escape stops the turn.
      onKeyDown={(event) => event.key !== "Escape" && event.stopPropagation()}
      // JupyterLab handles line breaks in every cell: these are for the fields.
      onBeforeInputCapture={(event) => event.stopPropagation()}
    >
      <div class="acp-asks">
        <span role="status">
          {asks}
          {item.mode === "url" && " you to open a link"}
        </span>
      </div>
      <Said text={item.message} />
      {item.mode === "url" ? <Address {...inner} /> : <Form {...inner} />}
      {pending && <Delivery slow={sent?.slow ?? false} what="answer" />}
      {!holds && <Elsewhere choose={place.choose} />}
    </div>
  );
}

interface Inner {
  item: ElicitationItem;
  /** Whether it is shown in this place. */
  here: boolean;
  usable: boolean;
  answer: (action: ElicitAction, values?: FormValues) => void;
  sent: Sent | undefined;
  guard: Guard;
  /** Whether clicks count, for assistive technology. */
  ready: boolean;
}

function Said({ text }: { text: string }) {
  return <div class="acp-said">{visible(text)}</div>;
}

function Form({ item, here, usable, answer, sent, guard, ready }: Inner) {
  const id = usePageId();
  const form = useForm(item.key, item.fields ?? [], sent, here);
  const element = useRef<HTMLFormElement>(null);

  const submit = () => {
    const { values, firstWrong } = form.check();
    if (firstWrong === null) return answer("accept", values);
    element.current?.querySelector<HTMLElement>(`[id="${id}-${firstWrong}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const plain = !event.shiftKey && !event.altKey && !event.ctrlKey && !isComposing(event);
    if (event.key !== "Enter" || !plain || !(event.target instanceof HTMLTextAreaElement)) return;
    event.preventDefault(); // as in the composer, Shift+Enter starts a new line
    submit();
  };
  return (
    <form
      ref={element}
      class="acp-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={onKeyDown}
    >
      {item.title && <div class="acp-form-title">{line(item.title)}</div>}
      {item.description && <div class="acp-quiet">{line(item.description)}</div>}
      {(item.fields ?? []).map((field, at) => (
        <FieldView
          key={field.name}
          field={field}
          id={`${id}-${at}`}
          draft={form.drafts.get(field.name)}
          wrong={form.wrongOf(field.name)}
          disabled={!usable}
          write={(draft) => form.write(field.name, draft)}
        />
      ))}
      <Problem text={item.problem ?? form.wrongOf("")} />
      <Buttons usable={usable} answer={answer} guard={guard} ready={ready}>
        {item.problem === undefined && (
          <button
            type="submit"
            class="acp-option"
            data-kind="allow_once"
            data-meaning="allow_once"
            data-acp-submit=""
            aria-disabled={!ready || undefined}
            onPointerEnter={guard.entered}
            disabled={!usable}
          >
            Submit
          </button>
        )}
      </Buttons>
    </form>
  );
}

function Address({ item, usable, answer, guard, ready }: Inner) {
  const { url = "", host } = item;
  const opens = host !== undefined && item.problem === undefined && isLink(url);
  return (
    <>
      <div class="acp-address">{emphasisedHost(url)}</div>
      {host !== undefined && (
        <div class="acp-quiet">
          This link goes to <strong>{line(host)}</strong>. Nothing opens until you click.
        </div>
      )}
      <Problem text={item.problem} />
      <Buttons usable={usable} answer={answer} guard={guard} ready={ready}>
        {opens && (
          <a
            class="acp-option"
            data-kind="allow_once"
            data-meaning="allow_once"
            data-acp-open=""
            onPointerEnter={guard.entered}
            href={url}
            aria-disabled={!usable || !ready}
            target="_blank"
            rel="noopener noreferrer"
            onClick={(event) => (usable ? answer("accept") : event.preventDefault())}
            onAuxClick={(event) => event.button === 1 && answer("accept")}
          >
            Open {line(host)}
          </a>
        )}
      </Buttons>
    </>
  );
}

/** The address with its host emphasised: what precedes an "@" is not the host. */
function emphasisedHost(url: string): ComponentChildren {
  const parts = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#:@]*)(.*)$/is.exec(url);
  if (!parts) return visible(url);
  return (
    <>
      {visible(parts[1] ?? "")}
      <strong>{visible(parts[2] ?? "")}</strong>
      {visible(parts[3] ?? "")}
    </>
  );
}

function Problem({ text }: { text: string | undefined }) {
  return text ? <div class="acp-invalid">{line(text)}</div> : null;
}

interface ButtonsProps {
  usable: boolean;
  answer: (action: ElicitAction) => void;
  guard: Guard;
  ready: boolean;
  children: ComponentChildren;
}

function Buttons({ usable, answer, guard, ready, children }: ButtonsProps) {
  const [ignored, setIgnored] = useIgnored();
  const check = (event: MouseEvent) => {
    const button = event.target instanceof Element ? event.target.closest(".acp-option") : null;
    const why = guard.click({ currentTarget: button, detail: event.detail });
    setIgnored(why === null ? "" : `Click ignored: ${why}. Click again.`);
    if (why === null) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <div class="acp-options acp-safe" onClickCapture={check} onAuxClickCapture={check}>
        {children}
        <button
          type="button"
          class="acp-option"
          data-kind="reject_once"
          data-meaning="reject"
          data-acp-decline=""
          aria-disabled={!ready || undefined}
          onPointerEnter={guard.entered}
          title="Tell the agent that you decline"
          disabled={!usable}
          onClick={() => answer("decline")}
        >
          Decline
        </button>
        <button
          type="button"
          class="acp-option"
          data-acp-dismiss=""
          aria-disabled={!ready || undefined}
          onPointerEnter={guard.entered}
          title="Tell the agent that you cancelled"
          disabled={!usable}
          onClick={() => answer("cancel")}
        >
          Cancel
        </button>
      </div>
      <div class="acp-ignored" role="status">
        {ignored}
      </div>
    </>
  );
}

// ---- settled

function Settled({ item }: { item: ElicitationItem }) {
  const { forms } = useContext(PlaceContext).places;
  useEffect(() => void forms.delete(item.key), []); // what was typed may be a secret
  const values = Object.entries(item.values ?? {});
  const accepted = item.status === "accepted";
  const done = item.mode === "url" ? "Opened" : "Answered";
  const verb = accepted ? done : capital(spoken(item.status));
  return (
    <div
      class="acp-settled acp-elicited"
      data-acp-question={item.key}
      data-acp-elicitation={item.mode}
      data-status={item.status}
    >
      <Said text={item.message} />
      {item.url !== undefined && <div class="acp-address">{emphasisedHost(item.url)}</div>}
      <div>
        <strong data-meaning={accepted ? "allow_once" : "reject"}>{verb}</strong>
        {item.by && <span class="acp-quiet">{decidedBy(item)}</span>}
        {item.reason && <span class="acp-quiet">: {line(item.reason)}</span>}
        {item.mode === "url" && accepted && (
          <span class="acp-badge">{item.completed ? "done" : "waiting for completion"}</span>
        )}
      </div>
      {values.length > 0 && (
        <dl class="acp-values">
          {values.map(([name, value]) => {
            const field = item.fields?.find((it) => it.name === name);
            return (
              <div key={name}>
                <dt>{line(field?.title ?? name)}</dt>
                <dd>{shown(field, value)}</dd>
              </div>
            );
          })}
        </dl>
      )}
    </div>
  );
}

/** Choices by their titles; anything else as is. */
function shown(field: FormField | undefined, value: Json): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const title = (it: Json) =>
    field?.choices?.find((choice) => choice.value === it)?.name ?? String(it);
  return line((Array.isArray(value) ? value : [value]).map(title).join(", "));
}
