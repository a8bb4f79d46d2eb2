// Something that the agent asks of the user beside permission: a form to fill in, or an address to open.
// Nothing is opened, fetched or embedded here but by the user's own click.

import type { ComponentChildren } from "preact";
import { useId, useMemo, useRef, useState } from "preact/hooks";
import type { Sent } from "../store";
import { isLink } from "../text/links";
import { visible } from "../text/visible";
import type { ElicitAction, ElicitationItem, Emit, Fields, FormField, Json } from "../types";
import { FieldView } from "./field";
import { draftsOf, filled } from "./form";
import type { Wrong } from "./form";
import { useGuard, useIgnored, useReady } from "./guard";
import type { Guard } from "./guard";
import { BY, Delivery } from "./permission";
import { capital, line, spoken } from "./words";

interface Props {
  item: ElicitationItem;
  sent: Sent | undefined;
  live: boolean;
  emit: Emit;
}

export function ElicitationView(props: Props) {
  return props.item.status === "open" ? <Open {...props} /> : <Settled item={props.item} />;
}

// ---- open

function Open({ item, sent, live, emit }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const guard = useGuard(box);
  const pending = sent !== undefined && sent.wrong === undefined;
  const usable = live && !pending;
  const answer = (action: ElicitAction, values?: Fields) => {
    if (!usable) return;
    box.current?.focus({ preventScroll: true }); // the button is off in a moment, and would lose it
    const said = { t: "elicit", elicitation: item.key, action } as const;
    emit(values ? { ...said, values } : said);
  };
  const ready = useReady();
  const inner = { item, usable, answer, sent, guard, ready };
  return (
    <div
      ref={box}
      class="acp-question acp-elicitation"
      role="group"
      aria-label={`The agent asks: ${line(item.message)}`}
      data-acp-question={item.key}
      data-acp-elicitation={item.mode}
      data-status="open"
      data-lm-suppress-shortcuts="true"
      tabIndex={-1}
      onKeyDown={(event) => event.stopPropagation()} // the notebook has its own use for keys
      // JupyterLab takes line breaks from whatever is in a cell: these are for the fields.
      onBeforeInputCapture={(event) => event.stopPropagation()}
    >
      <div class="acp-asks">
        <span role="status">
          {item.mode === "url" ? "The agent asks you to open an address" : "The agent asks"}
        </span>
      </div>
      <Said text={item.message} />
      {item.mode === "url" ? <Address {...inner} /> : <Form {...inner} />}
      {pending && <Delivery slow={sent?.slow ?? false} what="answer" />}
    </div>
  );
}

interface Inner {
  item: ElicitationItem;
  usable: boolean;
  answer: (action: ElicitAction, values?: Fields) => void;
  sent: Sent | undefined;
  guard: Guard;
  /** Clicks count; for those who look before they click. */
  ready: boolean;
}

function Said({ text }: { text: string }) {
  return <div class="acp-said">{visible(text)}</div>;
}

function Form({ item, usable, answer, sent, guard, ready }: Inner) {
  const fields = item.fields ?? [];
  const id = useId();
  const [drafts, setDrafts] = useState(() => draftsOf(fields));
  const [found, setFound] = useState<Wrong>(new Map());
  const told = useMemo(() => new Map(Object.entries(sent?.wrong ?? {})), [sent?.wrong]);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const form = useRef<HTMLFormElement>(null);
  const wrongOf = (name: string) =>
    found.get(name) ?? (fresh.has(name) ? undefined : told.get(name));

  const submit = () => {
    const { values, wrong } = filled(fields, drafts);
    setFound(wrong);
    setFresh(new Set());
    if (wrong.size === 0) return answer("accept", values);
    const first = fields.findIndex(({ name }) => wrong.has(name));
    form.current?.querySelector<HTMLElement>(`[id="${id}-${first}"]`)?.focus();
  };
  const write = (name: string, draft: Parameters<Parameters<typeof FieldView>[0]["write"]>[0]) => {
    setDrafts(new Map(drafts).set(name, draft));
    setFresh(new Set(fresh).add(name));
    if (found.has(name)) setFound(new Map([...found].filter(([other]) => other !== name)));
  };
  const byKey = (event: KeyboardEvent) => {
    const plain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.isComposing;
    if (event.key !== "Enter" || !plain || !(event.target instanceof HTMLTextAreaElement)) return;
    event.preventDefault(); // as in the prompt's field: Shift+Enter begins a line
    submit();
  };
  return (
    <form
      ref={form}
      class="acp-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={byKey}
    >
      {item.title && <div class="acp-form-title">{line(item.title)}</div>}
      {item.description && <div class="acp-quiet">{line(item.description)}</div>}
      {fields.map((field, at) => (
        <FieldView
          key={field.name}
          field={field}
          id={`${id}-${at}`}
          draft={drafts.get(field.name)}
          wrong={wrongOf(field.name)}
          disabled={!usable}
          write={(draft) => write(field.name, draft)}
        />
      ))}
      <Problem text={item.problem ?? told.get("")} />
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
      <div class="acp-address">{whole(url)}</div>
      {host !== undefined && (
        <div class="acp-quiet">
          It leads to <strong>{line(host)}</strong>. Nothing is opened before you click.
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

/** The address with its host set off: what stands before an "@" is not where it leads. */
function whole(url: string): ComponentChildren {
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
      <div class="acp-options" onClickCapture={check} onAuxClickCapture={check}>
        {children}
        <button
          type="button"
          class="acp-option"
          data-kind="reject_once"
          data-meaning="reject"
          data-acp-decline=""
          aria-disabled={!ready || undefined}
          onPointerEnter={guard.entered}
          title="The agent is told that you do not want to"
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
          title="The agent is told that you broke it off"
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
      {item.url !== undefined && <div class="acp-address">{whole(item.url)}</div>}
      <div>
        <strong data-meaning={accepted ? "allow_once" : "reject"}>{verb}</strong>
        {item.by && <span class="acp-quiet"> by {BY[item.by] ?? spoken(item.by)}</span>}
        {item.reason && <span class="acp-quiet">: {line(item.reason)}</span>}
        {item.mode === "url" && accepted && (
          <span class="acp-badge">{item.completed ? "done" : "waiting until it is done"}</span>
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

/** The titles of what was chosen; anything else as it is. */
function shown(field: FormField | undefined, value: Json): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const title = (it: Json) =>
    field?.choices?.find((choice) => choice.value === it)?.name ?? String(it);
  return line((Array.isArray(value) ? value : [value]).map(title).join(", "));
}
