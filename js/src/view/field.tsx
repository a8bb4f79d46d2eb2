// One field of a form, by its type. A field of an unknown type is shown as is, without an input.

import type { Choice, FormField } from "../types";
import type { Draft } from "./form";
import { KINDS } from "./form";
import { json, line } from "./display_text";

/** More choices than this become a drop-down list. */
const RADIOS = 7;

interface Props {
  field: FormField;
  /** Unique in the page. */
  id: string;
  draft: Draft | undefined;
  wrong: string | undefined;
  disabled: boolean;
  write: (draft: Draft) => void;
}

export function FieldView(props: Props) {
  const { field, id, wrong } = props;
  if (!KINDS.has(field.type)) return <Unknown field={field} />;
  const grouped = isGroup(field);
  const about = field.description || field.pattern ? `${id}-about` : undefined;
  const marks = {
    "aria-invalid": wrong !== undefined,
    "aria-describedby": [about, wrong && `${id}-wrong`].filter(Boolean).join(" ") || undefined,
  };
  const Box = grouped ? "fieldset" : "div";
  return (
    <Box
      class="acp-form-field"
      data-acp-field={field.name}
      data-type={field.type}
      {...(grouped ? marks : {})}
    >
      {field.type !== "boolean" && <Label field={field} id={id} grouped={grouped} />}
      {about && (
        <div class="acp-quiet acp-form-about" id={about}>
          {line(field.description ?? "")} {field.pattern && <code>{line(field.pattern)}</code>}
        </div>
      )}
      <Control {...props} marks={marks} />
      {field.secret && (
        <div class="acp-quiet acp-form-about">Secret: sent to the agent, and not stored.</div>
      )}
      {wrong !== undefined && (
        <div class="acp-invalid" id={`${id}-wrong`} role="alert">
          {line(wrong)}
        </div>
      )}
    </Box>
  );
}

function isGroup({ type, choices = [] }: FormField): boolean {
  return type === "multiselect" || (type === "select" && choices.length <= RADIOS);
}

function labelOf({ title, name }: FormField): string {
  return line(title ?? name);
}

function Label({ field, id, grouped }: { field: FormField; id: string; grouped: boolean }) {
  const text = (
    <>
      {labelOf(field)}
      {field.required && (
        <span class="acp-needed" title="Needed">
          {" *"}
        </span>
      )}
    </>
  );
  return grouped ? <legend>{text}</legend> : <label for={id}>{text}</label>;
}

function Unknown({ field }: { field: FormField }) {
  return (
    <div class="acp-form-field" data-acp-field={field.name} data-type="unknown">
      <span class="acp-title">{labelOf(field)}</span>
      <div class="acp-quiet">This cannot be filled in here: its type is not known.</div>
      <pre class="acp-code" tabIndex={0}>
        {json(field.raw)}
      </pre>
    </div>
  );
}

interface Marks {
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
}

function Control(props: Props & { marks: Marks }) {
  const { field, id, draft, disabled, write, marks } = props;
  const text = typeof draft === "string" ? draft : "";
  const common = { id, disabled, required: field.required === true, ...marks };
  switch (field.type) {
    case "boolean":
      return (
        <label class="acp-tick">
          <input
            type="checkbox"
            {...{ ...common, required: false }}
            checked={draft === true}
            onChange={({ currentTarget }) => write(currentTarget.checked)}
          />
          <span>{labelOf(field)}</span>
        </label>
      );
    case "select":
      return isGroup(field) ? (
        <Ticks {...props} type="radio" chosen={text === "" ? [] : [text]} />
      ) : (
        <select
          {...common}
          value={text}
          onChange={({ currentTarget }) => write(currentTarget.value)}
        >
          <option value="">—</option>
          {field.choices?.map(({ value, name }) => (
            <option key={value} value={value}>
              {line(name)}
            </option>
          ))}
        </select>
      );
    case "multiselect":
      return <Ticks {...props} type="checkbox" chosen={Array.isArray(draft) ? draft : []} />;
    default:
      return <Written {...{ field, text, common, write }} />;
  }
}

interface Kind {
  type: "text" | "email" | "url" | "date";
  hint?: string;
}

const KINDS_OF_TEXT = new Map<string, Kind>([
  ["email", { type: "email", hint: "name@example.org" }],
  ["uri", { type: "url", hint: "https://" }],
  ["date", { type: "date" }],
  ["date-time", { type: "text", hint: "2026-01-31T09:30:00Z" }],
]);

interface WrittenProps {
  field: FormField;
  text: string;
  common: object;
  write: (draft: Draft) => void;
}

function Written({ field, text, common, write }: WrittenProps) {
  const number = field.type !== "string";
  const { type, hint }: Kind = KINDS_OF_TEXT.get(field.format ?? "") ?? { type: "text" };
  const input = ({ currentTarget }: { currentTarget: { value: string } }) =>
    write(currentTarget.value);
  if (!number && type === "text" && !field.secret && !hint)
    return <textarea {...common} rows={1} value={text} onInput={input} />;
  const looks: object = {
    type: field.secret ? "password" : type,
    inputMode: number ? (field.type === "integer" ? "numeric" : "decimal") : undefined,
    autocomplete: field.secret ? "new-password" : "off",
    placeholder: hint ?? range(field),
  };
  return <input {...common} {...looks} value={text} onInput={input} />;
}

function range({ type, least, most }: FormField): string | undefined {
  if (type === "string" || (least === undefined && most === undefined)) return undefined;
  if (most === undefined) return `from ${least}`;
  return least === undefined ? `up to ${most}` : `${least} to ${most}`;
}

type TicksProps = Props & { type: "radio" | "checkbox"; chosen: readonly string[] };

function Ticks({ field, id, disabled, write, type, chosen }: TicksProps) {
  const toggle = (value: string, on: boolean) => {
    if (type === "radio") return write(value);
    const rest = chosen.filter((it) => it !== value);
    write(on ? [...rest, value] : rest);
  };
  return (
    <div class="acp-ticks">
      {field.choices?.map((choice, at) => (
        <Tick
          key={choice.value}
          choice={choice}
          input={
            <input
              type={type}
              id={at === 0 ? id : undefined}
              name={id}
              disabled={disabled}
              checked={chosen.includes(choice.value)}
              onChange={({ currentTarget }) => toggle(choice.value, currentTarget.checked)}
            />
          }
        />
      ))}
      {type === "radio" && !field.required && chosen.length > 0 && (
        <button type="button" class="acp-link" disabled={disabled} onClick={() => write("")}>
          None of these
        </button>
      )}
    </div>
  );
}

function Tick({ choice, input }: { choice: Choice; input: preact.JSX.Element }) {
  return (
    <label class="acp-tick">
      {input}
      <span>
        {line(choice.name)}
        {choice.description && <span class="acp-quiet"> {line(choice.description)}</span>}
      </span>
    </label>
  );
}
