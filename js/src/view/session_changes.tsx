// What all turns of the session changed together, above the field: kept or undone at once. To undo all of
// it is asked about once more.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Turn } from "../turns";
import {
  changesOf,
  operationsOf,
  operationsOfAll,
  filesChanged,
  standing,
  sumOf,
} from "./change_words";
import { keyOf } from "./changes";
import { OperationButton, DeedDelivery } from "./operations";
import { Counts } from "./diff";
import { capital } from "./words";

export function SessionChanges({ turns }: { turns: readonly Turn[] }) {
  const changes = useMemo(() => changesOf(turns).filter(({ files }) => files.length > 0), [turns]);
  const files = useMemo(() => changes.flatMap((item) => item.files), [changes]);
  const [asking, setAsking] = useState(false);
  const operations = operationsOfAll(files);
  const sum = sumOf(files);
  const settled = files.every(({ state }) => state === "kept");
  if (files.length === 0 || settled) return null;
  const stands = standing(files);
  const of = changes.length === 1 ? "" : ` in ${changes.length} turns`;
  return (
    <div
      class="acp-session-changes"
      role="group"
      data-acp-session-changes={files.length}
      aria-label="Changes of this session"
    >
      <span class="acp-title">{`${filesChanged(sum.files)}${of}`}</span>
      <Counts {...sum} />
      {stands !== "" && <span class="acp-quiet acp-stands">{stands}</span>}
      <DeedDelivery />
      {asking && operations.includes("undo") ? (
        <Confirm
          count={sumOf(files.filter((it) => operationsOf(it).includes("undo"))).files}
          leave={() => setAsking(false)}
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

function Confirm({ count, leave }: { count: number; leave: () => void }) {
  const box = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const bar = box.current?.parentElement;
    box.current?.querySelector("button")?.focus({ preventScroll: true });
    // Afterwards the focus goes to what stands there then.
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
        leave();
      }}
    >
      <span role="alert">{`Undo everything in ${count} file${count === 1 ? "" : "s"}?`}</span>
      <OperationButton operation="undo" of={{}} what="everything" label="Undo all" then={leave} />
      <button type="button" class="acp-ghost" onClick={leave}>
        Cancel
      </button>
    </span>
  );
}
