// Files that also changed during a turn: while a command ran, or by whatever else was at work. Nothing says
// that the agent changed them, so "Undo all" leaves them alone. What changed while a command ran is undone
// by a button that lists the files first; the rest only one by one.

import { useEffect, useRef, useState } from "preact/hooks";
import type { AlsoChanged, Emit, FileChange } from "../types";
import { operationsOf, operationsOfAll, standing } from "./change_words";
import { ChangedFile } from "./changed_file";
import { OperationButton } from "./operations";
import { Fold } from "./fold";
import { memo } from "./memo";
import { useRelative } from "./path";
import { line } from "./words";

interface Props {
  group: AlsoChanged;
  turn: string;
  /** The key of the item, by which folds are named. */
  item: string;
  /** Whether the turn has changes of its own, above. */
  more: boolean;
  folds: ReadonlyMap<string, boolean>;
  emit: Emit;
}

export const AlsoChangedView = memo(function AlsoChangedView(props: Props) {
  const { group, turn, item, more, folds, emit } = props;
  const { files, command } = group;
  const name = `${item}:also:${group.tool ?? ""}`;
  const [asking, setAsking] = useState(false);
  const stands = standing(files);
  const operations = command === undefined ? [] : operationsOfAll(files);
  return (
    <div class="acp-also" data-acp-also={group.tool ?? ""}>
      <div class="acp-also-head">
        <Fold
          name={name}
          open={folds.get(name) ?? false}
          emit={emit}
          class="acp-also-files"
          summary={
            <span class="acp-also-title">
              <Title count={files.length} more={more} command={command} />
              {stands !== "" && <span class="acp-quiet">{stands}</span>}
            </span>
          }
        >
          <ul class="acp-changed">
            {files.map((file) => (
              <li key={file.id}>
                <ChangedFile
                  file={file}
                  turn={turn}
                  name={`${item}:${file.id}`}
                  open={folds.get(`${item}:${file.id}`)}
                  emit={emit}
                />
              </li>
            ))}
          </ul>
        </Fold>
        <span class="acp-operations">
          {operations.includes("undo") && !asking && (
            <OperationButton
              operation="undo"
              of={{ turn }}
              what={`what changed while ${line(command ?? "")} ran`}
              label="Undo…"
              title="Lists the files first"
              ask={() => setAsking(true)}
            />
          )}
          {operations.includes("redo") && (
            <OperationButton
              operation="redo"
              of={{ turn, files: idsOf(files, "redo") }}
              what={`what changed while ${line(command ?? "")} ran`}
            />
          )}
        </span>
      </div>
      {asking && operations.includes("undo") && (
        <Choice files={files} turn={turn} leave={() => setAsking(false)} />
      )}
    </div>
  );
});

function Title({
  count,
  more,
  command,
}: {
  count: number;
  more: boolean;
  command?: string | undefined;
}) {
  const files = `${count.toLocaleString("en")} ${more ? "more " : ""}file${count === 1 ? "" : "s"}`;
  if (command === undefined) {
    const also = `${count.toLocaleString("en")} file${count === 1 ? "" : "s"} also changed during this turn`;
    return (
      <span title="Nothing says that the agent changed them: it may have been you, or another program">
        {also}
      </span>
    );
  }
  return (
    <span>
      {`${files} changed while `}
      <code title={line(command)}>{line(command)}</code>
      {" ran"}
    </span>
  );
}

function idsOf(files: readonly FileChange[], operation: "undo" | "redo"): string[] {
  return files.filter((file) => operationsOf(file).includes(operation)).map(({ id }) => id);
}

/** Which of the files are undone: all, unless the user takes some out. */
function Choice({
  files,
  turn,
  leave,
}: {
  files: readonly FileChange[];
  turn: string;
  leave: () => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const all = files.filter((file) => operationsOf(file).includes("undo"));
  const chosen = all.filter(({ id }) => !left.has(id));
  useEffect(() => {
    box.current?.querySelector("button")?.focus({ preventScroll: true });
  }, []);
  const toggle = (id: string) => {
    const next = new Set(left);
    if (!next.delete(id)) next.add(id);
    setLeft(next);
  };
  const count = `${chosen.length.toLocaleString("en")} file${chosen.length === 1 ? "" : "s"}`;
  return (
    <div
      ref={box}
      class="acp-also-choice"
      role="group"
      aria-label="Which files to undo"
      data-lm-suppress-shortcuts="true"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        leave();
      }}
    >
      <div role="alert">
        These files changed while it ran. Uncheck what you or another program changed:
      </div>
      <ul>
        {all.map((file) => (
          <li key={file.id}>
            <label>
              <input
                type="checkbox"
                checked={!left.has(file.id)}
                data-acp-choose={file.id}
                onChange={() => toggle(file.id)}
              />
              <Name file={file} />
            </label>
          </li>
        ))}
      </ul>
      <span class="acp-operations acp-confirm">
        {chosen.length > 0 && (
          <OperationButton
            operation="undo"
            of={{ turn, files: chosen.map(({ id }) => id) }}
            what={count}
            label={`Undo ${count}`}
            then={leave}
          />
        )}
        <button type="button" class="acp-ghost" onClick={leave}>
          Cancel
        </button>
      </span>
    </div>
  );
}

function Name({ file }: { file: FileChange }) {
  const called = useRelative(file.path);
  return (
    <span>
      {called} <span class="acp-quiet">{file.action}</span>
    </span>
  );
}
