// A tool call: what, where, how it stands, what came of it, and the question that it waits for.

import { Fragment } from "preact";
import type { Sent } from "../store";
import type { Action, Content, Emit, Json, Location, QuestionItem, ToolItem } from "../types";
import { ContentView } from "./content";
import { DiffView } from "./diff";
import { Fold } from "./fold";
import { Icon } from "./icons";
import { Path, PathText } from "./path";
import { cellsOf } from "./places";
import { PermissionView } from "./permission";
import { TerminalOf } from "./terminal";
import { code, json, spoken, titleOf } from "./words";

interface Props {
  item: ToolItem;
  question?: QuestionItem | undefined;
  sent?: Sent | undefined;
  open?: boolean | undefined;
  /** Whether the raw input and output are open. */
  raw?: boolean | undefined;
  live: boolean;
  emit: Emit;
}

export function ToolView({ item, question, sent, open, raw, live, emit }: Props) {
  const asking = question?.status === "open";
  const actions = asking ? question.actions : undefined;
  const command = actions ? undefined : commandOf(item);
  const content = actions ? item.content.filter((it) => !isAsked(it, actions)) : item.content;
  const place = placeOf(item);
  const hasRaw = item.raw_input !== undefined || item.raw_output !== undefined;
  const empty = content.length === 0 && !hasRaw && command === undefined;
  const inside = (
    <div class="acp-tool-body">
      {item.locations.length > 1 && <Places item={item} />}
      {command !== undefined && <pre class="acp-command">{code(command)}</pre>}
      <Blocks content={content} />
      {hasRaw && <Raw item={item} open={raw ?? false} emit={emit} />}
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
          <Heading item={item} asking={asking} linked />
        </div>
      ) : (
        <>
          {place && (
            <span class="acp-go">
              <Path path={place.path} at={place.line} cells={cellsOf(item, place)} small />
            </span>
          )}
          {/* A question is answered with open eyes: what it is about cannot be folded away before. */}
          <Fold
            name={item.key}
            open={asking || (open ?? isLoud(item))}
            locked={asking}
            emit={emit}
            class="acp-fold"
            summary={<Heading item={item} asking={asking} />}
          >
            {inside}
          </Fold>
        </>
      )}
      {question && (
        <PermissionView item={question} tool={item} inside sent={sent} live={live} emit={emit} />
      )}
    </div>
  );
}

/** What changes files, runs or went wrong is the reader's business at once; the rest opens on demand. */
function isLoud({ content, status }: ToolItem): boolean {
  return status === "failed" || content.some(({ type }) => type === "diff" || type === "terminal");
}

/** The one place that a call is about; several stand in its body. */
function placeOf({ locations }: ToolItem): Location | null {
  return locations.length === 1 ? (locations[0] ?? null) : null;
}

/** `linked`: it is not itself what is clicked, so there can be a link in it. */
function Heading(props: { item: ToolItem; asking: boolean; linked?: boolean }) {
  const { item, asking, linked = false } = props;
  const place = placeOf(item);
  return (
    <>
      <span class="acp-kind">
        <Icon name={item.kind} />
        <span class="acp-hidden">{spoken(item.kind)} </span>
      </span>
      <span class="acp-title" data-code={item.title.startsWith("`")}>
        {titleOf(item)}
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
      {item.unprompted && (
        <span class="acp-badge" data-status="unprompted" title="Nobody was asked before">
          unprompted
        </span>
      )}
      {/* Whatever the agent says: nothing of it has been allowed yet. */}
      <ToolStatus status={asking ? WAITING : item.status} />
    </>
  );
}

const WAITING = "waiting_for_you";

const MARKS: Record<string, string> = {
  completed: "✓",
  failed: "✕",
  rejected: "⊘",
  cancelled: "⊘",
  unfinished: "…",
  pending: "○",
  [WAITING]: "?",
};

export function ToolStatus({ status }: { status: string }) {
  const going = status === "in_progress";
  return (
    <span class="acp-state" data-status={status}>
      <span class={going ? "acp-spinner" : "acp-mark"} aria-hidden="true">
        {going ? "" : (MARKS[status] ?? "·")}
      </span>
      <span class={status === "completed" || going ? "acp-hidden" : ""}>{spoken(status)}</span>
    </span>
  );
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

function Raw({ item, open, emit }: { item: ToolItem; open: boolean; emit: Emit }) {
  const parts: [string, Json | undefined][] = [
    ["Input", item.raw_input],
    ["Output", item.raw_output],
  ];
  return (
    <Fold
      name={`${item.key}:raw`}
      open={open}
      emit={emit}
      class="acp-raw"
      summary="Raw input and output"
    >
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

/** What the call runs, where its title does not say it already. */
function commandOf({ command, title }: ToolItem): string | undefined {
  return command == null || title.replace(/^`|`$/g, "") === command ? undefined : command;
}

/** The question shows it, in full. */
function isAsked(content: Content, actions: readonly Action[]): boolean {
  if (content.type !== "diff") return false;
  return actions.some(
    (it) => (it.type === "write" || it.type === "notebook") && it.path === content.path,
  );
}
