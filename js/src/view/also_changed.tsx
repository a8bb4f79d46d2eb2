// Files that also changed during a turn: while a command ran, by the agent of another session, or because of
// something else. Since it is not known that the agent changed them, "Undo all" leaves them alone. Changes during a
// command are undone by a button that lists the files first; those of another session there; the others one by one.

import { useEffect, useRef, useState } from "preact/hooks";
import type { AlsoChanged, FileChange } from "../types";
import { operationsOf, operationsOfAll, summaryOf } from "./change_summary";
import { ChangedFile } from "./changed_file";
import { OperationButton } from "./operations";
import { Fold } from "./fold";
import { memo } from "./memo";
import { useRelative } from "./path";
import { line } from "./display_text";

interface Props {
  group: AlsoChanged;
  turn: string;
  /** The key of the item, which names its folds. */
  item: string;
  /** Whether the turn has changes of its own, above. */
  more: boolean;
  folds: ReadonlyMap<string, boolean>;
}

export const AlsoChangedView = memo(function AlsoChangedView(props: Props) {
  const { group, turn, item, more, folds } = props;
  const { files, command, by } = group;
  const name = `${item}:also:${group.tool ?? by ?? ""}`;
  const [asking, setAsking] = useState(false);
  const summary = summaryOf(files);
  const operations = command === undefined ? [] : operationsOfAll(files);
  return (
    <div class="acp-also" data-acp-also={group.tool ?? ""}>
      <div class="acp-also-head">
        <Fold
          name={name}
          open={folds.get(name) ?? false}
          class="acp-also-files"
          summary={
            <span class="acp-also-title">
              <Title count={files.length} more={more} command={command} by={by} />
              {summary !== "" && <span class="acp-quiet">{summary}</span>}
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
              title="Shows the files first"
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
        <Choice files={files} turn={turn} close={() => setAsking(false)} />
      )}
    </div>
  );
});

function Title({
  count,
  more,
  command,
  by,
}: {
  count: number;
  more: boolean;
  command?: string | undefined;
  by?: string | undefined;
}) {
  const files = `${count.toLocaleString("en")} ${more ? "more " : ""}file${count === 1 ? "" : "s"}`;
  if (by !== undefined) {
    const title = "They are listed in that session, where they can be undone";
    return <span title={title}>{`${files} changed by ${line(by)} in another session`}</span>;
  }
  if (command === undefined) {
    const also = `${count.toLocaleString("en")} file${count === 1 ? "" : "s"} also changed during this turn`;
    return (
      <span title="Not known to be the agent's doing: you or another program may have changed them">
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

/** Chooses the files to undo: all, unless the user unchecks some. */
function Choice({
  files,
  turn,
  close,
}: {
  files: readonly FileChange[];
  turn: string;
  close: () => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [unchecked, setUnchecked] = useState<ReadonlySet<string>>(new Set());
  const all = files.filter((file) => operationsOf(file).includes("undo"));
  const chosen = all.filter(({ id }) => !unchecked.has(id));
  useEffect(() => {
    box.current?.querySelector("button")?.focus({ preventScroll: true });
  }, []);
  const toggle = (id: string) => {
    const next = new Set(unchecked);
    if (!next.delete(id)) next.add(id);
    setUnchecked(next);
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
        close();
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
                checked={!unchecked.has(file.id)}
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
            then={close}
          />
        )}
        <button type="button" class="acp-ghost" onClick={close}>
          Cancel
        </button>
      </span>
    </div>
  );
}

function Name({ file }: { file: FileChange }) {
  const name = useRelative(file.path);
  return (
    <span>
      {name} <span class="acp-quiet">{file.action}</span>
    </span>
  );
}
