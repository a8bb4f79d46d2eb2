// What several turns of the session changed, above the composer, to keep or undo at once; a single turn has its own
// buttons. Undoing everything needs a confirmation.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Turn } from "../turns";
import {
  changesOf,
  operationsOf,
  operationsOfAll,
  filesChanged,
  summaryOf,
  sumOf,
} from "./change_summary";
import { keyOf } from "./changes";
import { OperationButton, OperationProgress } from "./operations";
import { Counts } from "./diff";
import { capital } from "./display_text";

export function SessionChanges({ turns }: { turns: readonly Turn[] }) {
  const changes = useMemo(() => changesOf(turns).filter(({ files }) => files.length > 0), [turns]);
  const files = useMemo(() => changes.flatMap((item) => item.files), [changes]);
  const [asking, setAsking] = useState(false);
  const operations = operationsOfAll(files);
  const sum = sumOf(files);
  const open = changes.filter((item) => item.files.some(({ state }) => state !== "kept"));
  if (open.length < 2) return null;
  const summary = summaryOf(files);
  return (
    <div
      class="acp-session-changes"
      role="group"
      data-acp-session-changes={files.length}
      aria-label="Changes of this session"
    >
      <span class="acp-title">{`${filesChanged(sum.files)} in ${changes.length} turns`}</span>
      <Counts {...sum} />
      {summary !== "" && <span class="acp-quiet acp-changes-summary">{summary}</span>}
      <OperationProgress />
      {asking && operations.includes("undo") ? (
        <Confirm
          count={sumOf(files.filter((it) => operationsOf(it).includes("undo"))).files}
          close={() => setAsking(false)}
        />
      ) : (
        <span class="acp-operations">
          {operations.map((operation) => (
            <OperationButton
              key={keyOf(operation)}
              operation={operation}
              of={{}}
              what="of this session"
              label={`${capital(operation)} all`}
              {...(operation === "undo" ? { ask: () => setAsking(true) } : {})}
            />
          ))}
        </span>
      )}
    </div>
  );
}

function Confirm({ count, close }: { count: number; close: () => void }) {
  const box = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const bar = box.current?.parentElement;
    box.current?.querySelector("button")?.focus({ preventScroll: true });
    // Afterwards the focus goes to the button that replaces it.
    return () =>
      void requestAnimationFrame(() => {
        if (document.activeElement === document.body)
          bar
            ?.querySelector<HTMLElement>("[data-acp-operation='undo'], button")
            ?.focus({ preventScroll: true });
      });
  }, []);
  return (
    <span
      ref={box}
      class="acp-operations acp-confirm"
      role="group"
      aria-label="Undo all?"
      data-lm-suppress-shortcuts="true"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        close();
      }}
    >
      <span role="alert">{`Undo everything in ${count} file${count === 1 ? "" : "s"}?`}</span>
      <OperationButton operation="undo" of={{}} what="everything" label="Undo all" then={close} />
      <button type="button" class="acp-ghost" onClick={close}>
        Cancel
      </button>
    </span>
  );
}
