// The files that a turn changed, at its end, each with its operations, and a note on what is not covered. A single
// change is left to the card of its tool call.

import { useEffect, useState } from "preact/hooks";
import { inFrame } from "../frame_schedule";
import type { AlsoChanged, ChangesItem, FileChange } from "../types";
import { AlsoChangedView } from "./also_changed";
import { operationsOfAll, filesChanged, summaryOf, sumOf } from "./change_summary";
import { ChangedFile } from "./changed_file";
import { Counts } from "./diff";
import { OperationButton, OperationProgress } from "./operations";
import { memo } from "./memo";
import type { OwnChanges } from "./own_changes";
import { usePanel } from "./panel";
import { capital, line } from "./display_text";

/** Shown at first. */
export const FIRST_FILES = 8;
/** Drawn in one frame. */
const FRAME_FILES = 40;

interface Props {
  item: ChangesItem;
  /** The turn is still running: show only the sum so far. */
  running: boolean;
  folds: ReadonlyMap<string, boolean>;
  /** The changes that the cards of their tool calls show. */
  own: OwnChanges;
}

export const ChangesView = memo(function ChangesView({ item, running, folds, own }: Props) {
  const { emit } = usePanel();
  const { files, notes, key } = item;
  const turn = item.turn ?? "";
  const all = folds.get(`${key}:all`) ?? false;
  const shown = useShown(files.length, all);
  const many = files.length > 1;
  const summary = summaryOf(files);
  const also = running ? [] : (item.also ?? []);
  // One change is shown by its card, with all that can be done about it.
  const told = files.length < 2 && (running || own.size === files.length);
  if (told && also.length === 0 && (running || notes.length === 0)) return null;
  return (
    <div class="acp-changes" role="group" data-acp-changes={key} aria-label="Changed files">
      {!(told && also.length === 0) && (
        <div class="acp-changes-head">
          <span class="acp-title">{headOf(told ? [] : files, also)}</span>
          {(many || running) && <Counts {...sumOf(files)} />}
          {summary !== "" && many && !running && <span class="acp-quiet">{summary}</span>}
          {many && !running && (
            <span class="acp-operations" role="group" aria-label="All files of this turn">
              {operationsOfAll(files).map((operation) => (
                <OperationButton
                  key={keyOf(operation)}
                  operation={operation}
                  of={{ turn }}
                  what="all files of this turn"
                  label={`${capital(operation)} all`}
                />
              ))}
            </span>
          )}
        </div>
      )}
      {!(told && files.length > 0) && <OperationProgress turn={turn} />}
      {!running && !told && (
        <ul class="acp-changed">
          {files.slice(0, shown).map((file) => (
            <li key={file.id}>
              <ChangedFile
                file={file}
                turn={turn}
                name={`${key}:${file.id}`}
                open={folds.get(`${key}:${file.id}`)}
              />
            </li>
          ))}
        </ul>
      )}
      {!running && files.length > FIRST_FILES && (
        <button
          type="button"
          class="acp-more"
          aria-expanded={all}
          onClick={() => emit({ t: "fold", key: `${key}:all`, open: !all })}
        >
          {all ? `Show the first ${FIRST_FILES} files` : `Show all ${files.length} files`}
        </button>
      )}
      {also.map((group) => (
        <AlsoChangedView
          key={group.tool ?? ""}
          item={key}
          more={files.length > 0}
          {...{ group, turn, folds }}
        />
      ))}
      {!running && notes.length > 0 && (
        <ul class="acp-changes-notes acp-quiet" aria-label="What is not covered">
          {notes.map((note, at) => (
            <li key={at}>{line(note)}</li>
          ))}
        </ul>
      )}
    </div>
  );
});

function headOf(files: readonly FileChange[], also: readonly AlsoChanged[]): string {
  if (files.length === 0 && also.length > 0) return "Changed during this turn";
  return filesChanged(sumOf(files).files);
}

/** Undo and redo alternate in one button, which keeps its place and the focus. */
export function keyOf(operation: string): string {
  return operation === "keep" ? "keep" : "change";
}

/** How many files are drawn; if all of them, a part in each frame. */
function useShown(count: number, all: boolean): number {
  const [drawn, setDrawn] = useState(FIRST_FILES);
  const most = all ? count : Math.min(count, FIRST_FILES);
  useEffect(() => {
    if (!all) setDrawn(FIRST_FILES);
    else if (drawn < most) return inFrame(() => setDrawn(drawn + FRAME_FILES));
    return undefined;
  }, [all, drawn, most]);
  return Math.min(drawn, most);
}
