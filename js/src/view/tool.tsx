// A tool call: its title, location, status and results, what it changed, and the question that it waits for.

import { Fragment } from "preact";
import { useContext, useMemo } from "preact/hooks";
import type { Sent } from "../store";
import type { Action, Content, Json, Location, QuestionItem, ToolItem } from "../types";
import { CardChange } from "./card_change";
import { CardMenu } from "./card_menu";
import type { MenuEntry } from "./card_menu";
import { copyText } from "./code";
import { commandText } from "./command_text";
import { ContentView } from "./content";
import { DiffView } from "./diff";
import { Fold } from "./fold";
import { Icon } from "./icons";
import { Inline } from "./inline";
import { Path, PathText } from "./path";
import { cellsOf, lineOf } from "./locations";
import type { OwnChange } from "./own_changes";
import { PermissionView } from "./permission";
import { usePanel } from "./panel";
import { NOT_RUN } from "./run";
import { CommandsById, TerminalOf } from "./terminal";
import { plainTitle, titleOf } from "./title";
import type { Title } from "./title";
import { ToolStatus, WAITING } from "./tool_status";
import { ToolText } from "./tool_text";
import { code, json, line, spoken } from "./display_text";

interface Props {
  item: ToolItem;
  question?: QuestionItem | undefined;
  sent?: Sent | undefined;
  open?: boolean | undefined;
  /** Whether the raw input and output are shown. */
  raw?: boolean | undefined;
  /** What the call changed, once the turn is over. */
  own?: OwnChange | undefined;
}

export function ToolView({ item, question, sent, open, raw = false, own }: Props) {
  const { folder } = usePanel();
  const commands = useContext(CommandsById);
  const asking = question?.status === "open";
  const actions = asking ? question.actions : undefined;
  const given = useMemo(() => titleOf(item, folder), [item, folder]);
  const title = isCommand(item, given, commands) ? { ...given, form: "code" as const } : given;
  const heading = (asking && purposeOf(question, title)) || title;
  const place = placeOf(item);
  // The path of the file that the heading names, in its words or next to them.
  const named = place && !asking ? place.path : title.path;
  const command = actions ? undefined : commandOf(item, title);
  const shown = [title.text, command].filter((it) => it !== undefined);
  const content = contentOf(item, actions, own);
  const data = rawOf(item, commands);
  const hasRaw = data.length > 0 && !isRun(item, actions); // its card shows all of it
  const empty = content.length === 0 && !own && !(hasRaw && raw) && command === undefined;
  const inside = (
    <div class="acp-tool-body">
      {item.locations.length > 1 && <Places item={item} />}
      {command !== undefined && <pre class="acp-command">{code(command)}</pre>}
      {own && <CardChange own={own} named={named !== null} asked={question !== undefined} />}
      <Blocks kind={item.kind} {...{ content, named, shown }} />
      {hasRaw && raw && <Raw data={data} />}
    </div>
  );
  const linked = place !== null && !empty;
  return (
    <div
      class="acp-tool"
      data-acp-tool={item.id}
      data-kind={item.kind}
      data-status={item.status}
      data-corner={Number(linked) + Number(hasRaw)}
    >
      {(linked || hasRaw) && (
        <span class="acp-corner">
          {linked && (
            <Path path={place.path} at={lineOf(place)} cells={cellsOf(item, place)} small />
          )}
          {hasRaw && <Menu item={item} title={title} place={place} raw={raw} />}
        </span>
      )}
      {empty ? (
        <div class="acp-tool-head">
          <Heading {...{ item, question, heading }} place={title.path ? null : place} linked />
        </div>
      ) : (
        // Before a question is answered, what it is about cannot be folded away.
        <Fold
          name={item.key}
          open={asking || (open ?? (isLoud(item) || own !== undefined))}
          locked={asking}
          class="acp-fold"
          summary={<Heading {...{ item, question, heading }} place={title.path ? null : place} />}
        >
          {inside}
        </Fold>
      )}
      {question && <PermissionView item={question} tool={item} inside sent={sent} />}
    </div>
  );
}

const LOUD: ReadonlySet<string> = new Set(["diff", "terminal", "run"]);

/** Diffs, terminals and failures are open at first; the rest opens on demand. */
function isLoud({ content, status }: ToolItem): boolean {
  return status === "failed" || content.some(({ type }) => LOUD.has(type));
}

const OF_RUNS: ReadonlySet<string> = new Set(["run_code", "run_cells", "call_function"]);

/** Code in the kernel, cells, or a function. */
function isRun({ content }: ToolItem, actions: readonly Action[] = []): boolean {
  const asked = actions.some(({ type }) => OF_RUNS.has(type));
  return asked || content.some(({ type }) => type === "run");
}

/** The single location of a call; several are listed in its body. */
function placeOf({ locations }: ToolItem): Location | null {
  return locations.length === 1 ? (locations[0] ?? null) : null;
}

interface HeadingProps {
  item: ToolItem;
  question: QuestionItem | undefined;
  heading: Title;
  /** Shown after the title. */
  place: Location | null;
  /** The heading is not clickable itself, so it can contain a link. */
  linked?: boolean;
}

function Heading({ item, question, heading, place, linked = false }: HeadingProps) {
  const asking = question?.status === "open";
  const gone = usePanel().link === "gone";
  return (
    <>
      <span class="acp-kind">
        <Icon name={item.kind} />
        <span class="acp-hidden">{spoken(item.kind)} </span>
      </span>
      <span class="acp-title" data-code={heading.form === "code"}>
        {heading.form === "words" ? <Inline text={heading.text} /> : heading.text}
      </span>
      {place && (
        <span class="acp-path acp-place">
          {linked ? (
            <Path path={place.path} at={lineOf(place)} cells={cellsOf(item, place)} />
          ) : (
            <PathText path={place.path} at={lineOf(place)} />
          )}
        </span>
      )}
      {item.unprompted && !asking && question?.by !== "user" && (
        <span class="acp-badge" data-status="unprompted" title="Nobody was asked for permission">
          unprompted
        </span>
      )}
      {/* Whatever status the agent reports, nothing has been allowed yet. */}
      <ToolStatus status={asking ? WAITING : statusOf(item, gone)} />
    </>
  );
}

/** What is asked, where the agent's title is only its name for the tool, or repeats the command. */
function purposeOf({ actions = [] }: QuestionItem, title: Title): Title | undefined {
  const words = (text: string) => ({ text: line(text), path: null, form: null });
  for (const action of actions) {
    if (action.type === "run_code") return words(action.purpose || "Run code in the kernel");
    if (action.type === "call_function") return words(`Call ${action.name}`);
    if (action.type === "run_cells")
      return words(action.cells.length === 1 ? "Run 1 cell" : `Run ${action.cells.length} cells`);
    if (action.type === "command" && isSame(title.text, action.line)) return words("Run a command");
  }
  return undefined;
}

/** To an agent, a call that ran nothing is completed, too. `gone`: the kernel is. */
function statusOf({ content, status }: ToolItem, gone: boolean): string {
  if (gone && status === "in_progress") return "unfinished";
  // An agent may report nothing until the call is over.
  if (status === "pending" && content.some((it) => it.type === "run" && it.status === "running"))
    return gone ? "unfinished" : "in_progress";
  const idle = content.some(
    (it) => it.type === "run" && (NOT_RUN.has(it.status) || it.status === "waiting"),
  );
  return idle && status === "completed" ? "not_run" : status;
}

function Places({ item }: { item: ToolItem }) {
  return (
    <div class="acp-path">
      {item.locations.map((place, at) => (
        <Fragment key={at}>
          {at > 0 && ", "}
          <Path path={place.path} at={lineOf(place)} cells={cellsOf(item, place)} />
        </Fragment>
      ))}
    </div>
  );
}

interface BlocksProps {
  content: readonly Content[];
  kind: string;
  /** The path that the heading names. */
  named: string | null;
  /** The commands that the card shows already. */
  shown: readonly string[];
}

function Blocks({ content, kind, named, shown }: BlocksProps) {
  return (
    <>
      {content.map((block, at) => {
        switch (block.type) {
          case "diff":
            return <DiffView key={at} diff={block} named={block.path === named} />;
          case "terminal":
            return <TerminalOf key={at} id={block.terminal_id} shown={shown} />;
          case "text":
            return <ToolText key={at} text={block.text} kind={kind} />;
          default:
            return <ContentView key={at} block={block} exact />;
        }
      })}
    </>
  );
}

/** What is to be drawn: not what the question shows in full, nor the agent's form of what it changed. */
function contentOf({ content }: ToolItem, actions?: readonly Action[], own?: OwnChange) {
  if (actions) return content.filter((it) => !isAsked(it, actions));
  return own && own.file.hunks.length > 0 ? content.filter(({ type }) => type !== "diff") : content;
}

/** Whether the question shows it in full. */
function isAsked(content: Content, actions: readonly Action[]): boolean {
  if (content.type === "run") return true;
  if (content.type !== "diff") return false;
  return actions.some(
    (it) => (it.type === "write" || it.type === "notebook") && it.path === content.path,
  );
}

/** Whether the title is what was run. */
function isCommand(
  { kind, command, content }: ToolItem,
  { text }: Title,
  commands: ReadonlyMap<string, string>,
): boolean {
  if (kind !== "execute") return false;
  const ran = content.map((it) => it.type === "terminal" && commands.get(it.terminal_id));
  return [command, ...ran].some((it) => typeof it === "string" && isSame(text, it));
}

/** The command of the call, unless the title says it already. */
function commandOf({ command }: ToolItem, title: Title): string | undefined {
  return command == null || isSame(title.text, command) ? undefined : command;
}

function isSame(title: string, command: string): boolean {
  return [command, commandText(command).line].some((it) => line(it.trim()) === title);
}

// ---- the menu

interface MenuProps {
  item: ToolItem;
  title: Title;
  place: Location | null;
  raw: boolean;
}

function Menu({ item, title, place, raw }: MenuProps) {
  const { emit } = usePanel();
  const { command, key } = item;
  const show = () => {
    emit({ t: "fold", key: `${key}:raw`, open: !raw });
    if (!raw) emit({ t: "fold", key, open: true });
  };
  const entries: MenuEntry[] = [{ name: "Raw input and output", run: show, on: raw }];
  if (place) entries.push({ name: "Copy path", run: () => copyText(place.path) });
  if (command != null) entries.push({ name: "Copy command", run: () => copyText(command) });
  return <CardMenu of={plainTitle(title)} entries={entries} />;
}

/** What the agent and the terminal say literally. */
function rawOf(
  { raw_input: input, raw_output: output, content }: ToolItem,
  commands: ReadonlyMap<string, string>,
): [string, Json][] {
  const ran = content.flatMap((it) => (it.type === "terminal" ? [it.terminal_id] : []));
  const lines = ran.map((id): [string, Json | undefined] => ["Run as", commands.get(id)]);
  const all: [string, Json | undefined][] = [["Input", input], ...lines, ["Output", output]];
  return all.filter((it): it is [string, Json] => it[1] !== undefined);
}

function Raw({ data }: { data: readonly [string, Json][] }) {
  return (
    <div class="acp-raw" role="group" aria-label="Raw input and output">
      {data.map(([name, value], at) => (
        <div key={at}>
          <span class="acp-quiet">{name}</span>
          <pre class="acp-code" tabIndex={0} aria-label={`Raw ${name.toLowerCase()}`}>
            {name === "Run as" ? code(String(value)) : json(value)}
          </pre>
        </div>
      ))}
    </div>
  );
}
