// A tool call: its title, location, status and results, and the question that it waits for.

import { Fragment } from "preact";
import type { Sent } from "../store";
import type { Action, Content, Json, Location, QuestionItem, ToolItem } from "../types";
import { ContentView } from "./content";
import { DiffView } from "./diff";
import { Fold } from "./fold";
import { Icon } from "./icons";
import { Path, PathText } from "./path";
import { cellsOf } from "./locations";
import { PermissionView } from "./permission";
import { usePanel } from "./panel";
import { NOT_RUN } from "./run";
import { TerminalOf } from "./terminal";
import { ToolStatus, WAITING } from "./tool_status";
import { code, json, line, spoken, titleOf } from "./display_text";

interface Props {
  item: ToolItem;
  question?: QuestionItem | undefined;
  sent?: Sent | undefined;
  open?: boolean | undefined;
  /** Whether the raw input and output are open. */
  raw?: boolean | undefined;
}

export function ToolView({ item, question, sent, open, raw }: Props) {
  const asking = question?.status === "open";
  const actions = asking ? question.actions : undefined;
  const command = actions ? undefined : commandOf(item);
  const content = actions ? item.content.filter((it) => !isAsked(it, actions)) : item.content;
  const place = placeOf(item);
  const said = item.raw_input !== undefined || item.raw_output !== undefined;
  const hasRaw = said && !isRun(item, actions); // its card shows all of it
  const empty = content.length === 0 && !hasRaw && command === undefined;
  const inside = (
    <div class="acp-tool-body">
      {item.locations.length > 1 && <Places item={item} />}
      {command !== undefined && <pre class="acp-command">{code(command)}</pre>}
      <Blocks content={content} />
      {hasRaw && <Raw item={item} open={raw ?? false} />}
    </div>
  );
  return (
    <div
      class="acp-tool"
      data-acp-tool={item.id}
      data-kind={item.kind}
      data-status={item.status}
      data-placed={place !== null && !empty}
    >
      {empty ? (
        <div class="acp-tool-head">
          <Heading item={item} question={question} linked />
        </div>
      ) : (
        <>
          {place && (
            <span class="acp-go">
              <Path path={place.path} at={place.line} cells={cellsOf(item, place)} small />
            </span>
          )}
          {/* Before a question is answered, what it is about cannot be folded away. */}
          <Fold
            name={item.key}
            open={asking || (open ?? isLoud(item))}
            locked={asking}
            class="acp-fold"
            summary={<Heading item={item} question={question} />}
          >
            {inside}
          </Fold>
        </>
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

/** `linked`: the heading is not clickable itself, so it can contain a link. */
function Heading(props: { item: ToolItem; question: QuestionItem | undefined; linked?: boolean }) {
  const { item, question, linked = false } = props;
  const asking = question?.status === "open";
  const place = placeOf(item);
  const gone = usePanel().link === "gone";
  return (
    <>
      <span class="acp-kind">
        <Icon name={item.kind} />
        <span class="acp-hidden">{spoken(item.kind)} </span>
      </span>
      <span class="acp-title" data-code={item.title.startsWith("`")}>
        {(asking && purposeOf(question)) || titleOf(item)}
      </span>
      {place && (
        <span class="acp-path acp-place">
          {linked ? (
            <Path path={place.path} at={place.line} cells={cellsOf(item, place)} />
          ) : (
            <PathText path={place.path} at={place.line} />
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

/** The purpose of the agent's code, or the function; until it runs, the title is the agent's own name for the tool. */
function purposeOf({ actions = [] }: QuestionItem): string | undefined {
  for (const action of actions) {
    if (action.type === "run_code") return line(action.purpose || "Run code in the kernel");
    if (action.type === "call_function") return line(`Call ${action.name}`);
    if (action.type === "run_cells")
      return action.cells.length === 1 ? "Run 1 cell" : `Run ${action.cells.length} cells`;
  }
  return undefined;
}

/** To an agent, a call that ran nothing is completed, too. `gone`: the kernel is. */
function statusOf({ content, status }: ToolItem, gone: boolean): string {
  if (gone && status === "in_progress") return "unfinished";
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
          <Path path={place.path} at={place.line} cells={cellsOf(item, place)} />
        </Fragment>
      ))}
    </div>
  );
}

function Blocks({ content }: { content: readonly Content[] }) {
  return (
    <>
      {content.map((block, at) => {
        if (block.type === "diff") return <DiffView key={at} diff={block} />;
        if (block.type === "terminal") return <TerminalOf key={at} id={block.terminal_id} />;
        return <ContentView key={at} block={block} exact />;
      })}
    </>
  );
}

function Raw({ item, open }: { item: ToolItem; open: boolean }) {
  const parts: [string, Json | undefined][] = [
    ["Input", item.raw_input],
    ["Output", item.raw_output],
  ];
  return (
    <Fold name={`${item.key}:raw`} open={open} class="acp-raw" summary="Raw input and output">
      {open &&
        parts.map(
          ([name, value]) =>
            value !== undefined && (
              <div key={name}>
                <span class="acp-quiet">{name}</span>
                <pre class="acp-code" tabIndex={0} aria-label={`Raw ${name.toLowerCase()}`}>
                  {json(value)}
                </pre>
              </div>
            ),
        )}
    </Fold>
  );
}

/** The command of the call, unless the title says it already. */
function commandOf({ command, title }: ToolItem): string | undefined {
  return command == null || title.replace(/^`|`$/g, "") === command ? undefined : command;
}

/** Whether the question shows it in full. */
function isAsked(content: Content, actions: readonly Action[]): boolean {
  if (content.type === "run") return true;
  if (content.type !== "diff") return false;
  return actions.some(
    (it) => (it.type === "write" || it.type === "notebook") && it.path === content.path,
  );
}
