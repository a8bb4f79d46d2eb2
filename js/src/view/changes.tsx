// The files that a turn changed, at its end: each with what can be done with it, and what is not covered.

import { useEffect, useState } from "preact/hooks";
import type { AlsoChanged, ChangesItem, Emit, FileChange } from "../types";
import { AlsoChangedView } from "./also_changed";
import { operationsOfAll, filesChanged, standing, sumOf } from "./change_words";
import { ChangedFile } from "./changed_file";
import { Counts } from "./diff";
import { OperationButton, DeedDelivery } from "./operations";
import { memo } from "./memo";
import { capital, line } from "./words";

/** Shown at once: a list that one takes in at a glance. */
export const FIRST_FILES = 8;
/** Drawn in one frame. */
const FRAME_FILES = 40;

interface Props {
  item: ChangesItem;
  /** The turn goes on: only what has come together so far. */
  running: boolean;
  folds: ReadonlyMap<string, boolean>;
  emit: Emit;
}

export const ChangesView = memo(function ChangesView({ item, running, folds, emit }: Props) {
  const { files, notes, key } = item;
  const turn = item.turn ?? "";
  const all = folds.get(`${key}:all`) ?? false;
  const shown = useShown(files.length, all);
  const many = files.length > 1;
  const stands = standing(files);
  const also = running ? [] : (item.also ?? []);
  if (running && files.length === 0) return null;
  return (
    <div class="acp-changes" role="group" data-acp-changes={key} aria-label="Changed files">
      <div class="acp-changes-head">
        <span class="acp-title">{headOf(files, also)}</span>
        {(many || running) && <Counts {...sumOf(files)} />}
        {stands !== "" && many && !running && <span class="acp-quiet">{stands}</span>}
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
      <DeedDelivery turn={turn} />
      {!running && files.length > 0 && (
        <ul class="acp-changed">
          {files.slice(0, shown).map((file) => (
            <li key={file.id}>
              <ChangedFile
                file={file}
                turn={turn}
                name={`${key}:${file.id}`}
                open={folds.get(`${key}:${file.id}`)}
                emit={emit}
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
          {...{ group, turn, folds, emit }}
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

/** Undo and redo are one button in turn: it keeps its place, and the focus. */
export function keyOf(operation: string): string {
  return operation === "keep" ? "keep" : "change";
}

/** How many files are drawn: all of them only when asked for, and then a part in each frame. */
function useShown(count: number, all: boolean): number {
  const [drawn, setDrawn] = useState(FIRST_FILES);
  const most = all ? count : Math.min(count, FIRST_FILES);
  useEffect(() => {
    if (!all) setDrawn(FIRST_FILES);
    else if (drawn < most) {
      const frame = requestAnimationFrame(() => setDrawn(drawn + FRAME_FILES));
      return () => cancelAnimationFrame(frame);
    }
    return undefined;
  }, [all, drawn, most]);
  return Math.min(drawn, most);
}
