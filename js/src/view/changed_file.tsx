// One changed file: what was done to it, who allowed it, its state, and its hunks, which can be undone one by one.

import { useMemo } from "preact/hooks";
import type { FileChange, Hunk } from "../types";
import { operationsOf, STATE_WORDS, whoOf } from "./change_summary";
import { OperationButton } from "./operations";
import { Counts, DiffRows } from "./diff";
import { Icon } from "./icons";
import { memo } from "./memo";
import { usePanel } from "./panel";
import { CellLink, Path, useRelative } from "./path";
import { hunkRows } from "./diff_rows";
import { capital, line, spoken } from "./display_text";

interface Props {
  file: FileChange;
  turn: string;
  /** The name of its fold. */
  name: string;
  open: boolean | undefined;
}

/** An icon for each action; the words are next to it. */
const ICONS: Record<string, string> = {
  created: "add",
  modified: "edit",
  deleted: "delete",
  moved: "move",
  mode: "key",
  link: "chain",
};

const ACTIONS: Record<string, string> = { mode: "permissions changed", link: "link changed" };

export const ChangedFile = memo(function ChangedFile({ file, turn, name, open = false }: Props) {
  const { emit } = usePanel();
  const { hunks, state, path, action } = file;
  const shownPath = useRelative(path);
  const inside = hunks.length > 0;
  return (
    <div class="acp-changed-file" data-acp-file={file.id} data-state={state} data-action={action}>
      <div class="acp-changed-head">
        <button
          type="button"
          class="acp-expand"
          aria-expanded={open && inside}
          aria-label={`Show what changed in ${shownPath}`}
          disabled={!inside}
          title={inside ? "" : "No lines to show"}
          onClick={() => emit({ t: "fold", key: name, open: !open })}
        >
          <Icon name={ICONS[action] ?? action} />
          <span class="acp-chevron" aria-hidden="true" />
        </button>
        <span class="acp-path acp-changed-path">
          {file.moved_from !== undefined && <MovedFrom path={file.moved_from} />}
          <Path path={path} to={hunks[0]?.new_start} cells={cellsOf(file)} gone={isGone(file)} />
        </span>
        <span class="acp-changed-about">
          <ChangedFileAbout file={file} />
          <span class="acp-who-allowed acp-quiet" title={whoOf(file)}>
            {whoOf(file)}
          </span>
        </span>
        <ChangedFileOperations {...{ file, turn, shownPath }} />
      </div>
      <Reasons file={file} />
      {open && hunks.map((hunk) => <HunkView key={hunk.id} {...{ hunk, file, turn, shownPath }} />)}
    </div>
  );
});

/** What was done to it, how much of it, and its state. */
export function ChangedFileAbout({ file }: { file: FileChange }) {
  const { action, added, removed } = file;
  return (
    <>
      <span class={action === "modified" ? "acp-hidden" : "acp-quiet"}>
        {ACTIONS[action] ?? spoken(action)}
      </span>
      {(added > 0 || removed > 0) && <Counts {...file} />}
      {file.binary && <span class="acp-badge">binary</span>}
      <State file={file} />
    </>
  );
}

export function ChangedFileOperations(props: {
  file: FileChange;
  turn: string;
  shownPath: string;
}) {
  const { file, turn, shownPath } = props;
  const operations = operationsOf(file);
  return (
    <span class="acp-operations" role="group" aria-label={shownPath}>
      {operations.map((operation) => (
        <OperationButton
          key={operation === "keep" || operations.length > 2 ? operation : "change"}
          operation={operation}
          of={{ turn, file: file.id }}
          what={shownPath}
        />
      ))}
    </span>
  );
}

export function MovedFrom({ path }: { path: string }) {
  return <span title={line(path)}>{useRelative(path)} → </span>;
}

function State({ file: { state, undoable } }: { file: FileChange }) {
  const words = STATE_WORDS[state];
  return (
    <>
      {words !== undefined && (
        <span class="acp-badge" data-status={state}>
          {words}
        </span>
      )}
      {!undoable && (
        <span class="acp-badge" data-status="fixed">
          not undoable
        </span>
      )}
    </>
  );
}

/** What to do about a conflict. */
const CONFLICT = "Look at the file: undo your own edit and try again, or keep it as it is.";

export function Reasons({ file: { state, why, note } }: { file: FileChange }) {
  const conflict = state === "conflict";
  if (!why && !note && !conflict) return null;
  return (
    <div class="acp-changed-why">
      {(why || conflict) && (
        <div class={conflict ? "acp-bad" : "acp-quiet"} role={conflict ? "status" : undefined}>
          {sentence(why ?? "it has changed since then")}
          {conflict && ` ${CONFLICT}`}
        </div>
      )}
      {note && <div class="acp-quiet">{sentence(note)}</div>}
    </div>
  );
}

/** Reasons are written as parts of a sentence; here each is a sentence. */
function sentence(text: string): string {
  const whole = line(text);
  return `${capital(whole)}${/[.!?]$/.test(whole) ? "" : "."}`;
}

interface HunkProps {
  hunk: Hunk;
  file: FileChange;
  turn: string;
  shownPath: string;
  /** It is the only one, and what is said about the file holds for it. */
  alone?: boolean;
}

export function HunkView({ hunk, file, turn, shownPath, alone = false }: HunkProps) {
  const rows = useMemo(() => hunkRows(hunk), [hunk]);
  const what = `${whereOf(hunk)} of ${shownPath}`;
  const of = { turn, file: file.id, hunk: hunk.id };
  const kept = !hunk.undone && (hunk.kept === true || file.state === "kept");
  return (
    <figure class="acp-diff acp-hunk" data-acp-hunk={hunk.id} data-undone={hunk.undone}>
      {!alone && (
        <figcaption class="acp-diff-head">
          <HunkPlace {...{ hunk, file }} />
          {(hunk.undone || kept) && (
            <span class="acp-badge" data-status={kept ? "kept" : "undone"}>
              {kept ? "kept" : "undone"}
            </span>
          )}
          {isDivisible(file) && (
            <span class="acp-operations">
              {!hunk.undone && !kept && (
                <OperationButton key="keep" operation="keep" {...{ of, what }} />
              )}
              <OperationButton
                key="change"
                operation={hunk.undone ? "redo" : "undo"}
                {...{ of, what }}
              />
            </span>
          )}
        </figcaption>
      )}
      <DiffRows rows={rows} path={file.path} />
    </figure>
  );
}

/** Its lines, or its cell. */
export function HunkPlace({ hunk, file }: { hunk: Hunk; file: FileChange }) {
  if (file.notebook) return <CellLink path={file.path} cells={cellOf(hunk)} text={whereOf(hunk)} />;
  return <span class="acp-quiet">{whereOf(hunk)}</span>;
}

function whereOf(hunk: Hunk): string {
  return hunk.title ? line(hunk.title) : linesOf(hunk);
}

function linesOf({ new_start: start, new_count: count, old_start: was, old_count: gone }: Hunk) {
  const [from, length] = count > 0 ? [start, count] : [was, gone];
  return length === 1 ? `Line ${from}` : `Lines ${from} to ${from + length - 1}`;
}

/** The file does not exist now, so it cannot be opened. */
export function isGone({ action, state }: FileChange): boolean {
  return action === "deleted" ? state !== "undone" : action === "created" && state === "undone";
}

/** The cells that changed, if it is a notebook. */
function cellsOf({ notebook, hunks }: FileChange): string[] {
  return notebook ? hunks.flatMap(cellOf) : [];
}

/** The cell of a notebook's hunk, from a title such as "cell 3", counted from 1. */
export function cellOf({ title = "" }: Hunk): string[] {
  const number = /^cell (\d+)/.exec(title)?.[1];
  return number === undefined ? [] : [`#${Number(number) - 1}`];
}

/** Whether its hunks can be undone one by one; moved cells only go back together. */
function isDivisible({ hunks, undoable, notebook }: FileChange): boolean {
  const moved = notebook && hunks.some(({ title }) => /\bmoved\b/.test(title ?? ""));
  return hunks.length > 1 && undoable && !moved;
}
