// The agent's mode and options, as the agent reports them, each with its name; a pending choice is marked until
// it is confirmed or refused.

import type { Sent } from "../store";
import type { Choice, ConfigOption, Header } from "../types";
import { usePanel } from "./panel";
import { line } from "./display_text";
import { isGone } from "./trouble";

interface Props {
  header: Header;
  disabled: boolean;
  sent: ReadonlyMap<string, Sent>;
}

/** The options that are changed most: they are in the header, too, if it has room. */
const OFTEN = ["mode", "model"];

export function AgentOptions({ header, disabled, sent, often }: Props & { often?: boolean }) {
  const { emit } = usePanel();
  const config = (header.config ?? []).filter(
    ({ category }) => !often || OFTEN.includes(category ?? ""),
  );
  // Where an agent has options, its modes are one of them.
  const modes = header.config?.some(isMode) ? [] : (header.modes ?? []);
  const mode = sent.get("mode")?.intent;
  const off = disabled || header.status === "closed" || isGone(header.status);
  return (
    <>
      {modes.length > 0 && (
        <Select
          name="Mode"
          hook={{ "data-acp-mode": header.mode ?? "" }}
          value={mode?.t === "mode" ? mode.mode : (header.mode ?? "")}
          choices={modes.map(({ id, ...rest }) => ({ value: id, ...rest }))}
          pending={mode !== undefined}
          disabled={off}
          choose={(value) => emit({ t: "mode", mode: value })}
        />
      )}
      {config.map((option) => (
        <OptionView key={option.id} option={option} sent={sent} disabled={off} />
      ))}
    </>
  );
}

/** Whether the agent has any. */
export function hasOptions({ config, modes }: Header): boolean {
  return (config?.length ?? 0) + (modes?.length ?? 0) > 0;
}

function isMode({ category, type }: ConfigOption): boolean {
  return category === "mode" && type === "select";
}

function OptionView(props: { option: ConfigOption } & Omit<Props, "header">) {
  const { option, sent, disabled } = props;
  const { emit } = usePanel();
  const intent = sent.get(`config:${option.id}`)?.intent;
  const value = intent?.t === "config" ? intent.value : option.value;
  const pending = intent !== undefined;
  const choose = (chosen: string | boolean) => emit({ t: "config", id: option.id, value: chosen });
  if (option.type === "boolean")
    return (
      <label class="acp-check" title={line(option.description ?? "")} data-pending={pending}>
        <input
          type="checkbox"
          data-acp-config={option.id}
          checked={value === true}
          disabled={disabled || pending}
          onChange={({ currentTarget }) => choose(currentTarget.checked)}
        />
        {line(option.name)}
      </label>
    );
  if (option.type !== "select") return null; // an unknown kind cannot be set here
  return (
    <Select
      name={line(option.name)}
      about={option.description}
      hook={{
        "data-acp-config": option.id,
        ...(isMode(option) ? { "data-acp-mode": String(option.value) } : {}),
      }}
      value={String(value)}
      choices={option.choices}
      pending={pending}
      disabled={disabled}
      choose={choose}
    />
  );
}

interface SelectProps {
  name: string;
  about?: string | null | undefined;
  hook: Record<string, string>;
  value: string;
  choices: readonly Choice[];
  pending: boolean;
  disabled: boolean;
  choose: (value: string) => void;
}

function Select({ name, about, hook, value, choices, pending, disabled, choose }: SelectProps) {
  const known = choices.some((choice) => choice.value === value);
  const chosen = choices.find((choice) => choice.value === value)?.description;
  const details = [about, chosen].filter(Boolean).map((text) => line(text ?? ""));
  return (
    <label class="acp-option">
      <span class="acp-quiet">{name}</span>
      <select
        class="acp-select"
        {...hook}
        title={details.length ? `${name}: ${details.join(" · ")}` : name}
        data-pending={pending}
        value={value}
        disabled={disabled || pending}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        {!known && <option value={value}>{line(value)}</option>}
        {grouped(choices).map(([group, members]) =>
          group === "" ? (
            members.map(option)
          ) : (
            <optgroup key={group} label={line(group)}>
              {members.map(option)}
            </optgroup>
          ),
        )}
      </select>
    </label>
  );
}

function option({ value, name }: Choice) {
  return (
    <option key={value} value={value}>
      {line(name)}
    </option>
  );
}

function grouped(choices: readonly Choice[]): [string, Choice[]][] {
  const groups = new Map<string, Choice[]>();
  for (const choice of choices) {
    const members = groups.get(choice.group ?? "");
    if (members) members.push(choice);
    else groups.set(choice.group ?? "", [choice]);
  }
  return [...groups];
}
