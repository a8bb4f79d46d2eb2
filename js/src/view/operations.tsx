// Operations on changes: keep, undo, redo; of a hunk, a file, a turn or the session. A disabled button says why
// and keeps the focus; a running operation shows its progress.

import type { Link, Sent } from "../store";
import type { Intent, OfChanges, OperationIntent } from "../types";
import { useActivity, usePanel } from "./panel";
import { Delivery } from "./delivery";

export type Operation = OperationIntent["t"];

export function isOperation(intent: Intent): intent is OperationIntent {
  return intent.t === "undo" || intent.t === "redo" || intent.t === "keep";
}

/** The pending operation; there is one at a time. */
export function sentOperation(sent: ReadonlyMap<string, Sent>): Sent | undefined {
  for (const it of sent.values()) if (isOperation(it.intent)) return it;
  return undefined;
}

const WORDS: Record<Operation, { name: string; going: string }> = {
  undo: { name: "Undo", going: "Undoing…" },
  redo: { name: "Redo", going: "Redoing…" },
  keep: { name: "Keep", going: "Keeping…" },
};

interface Props {
  operation: Operation;
  of: OfChanges;
  /** What it applies to, for screen readers: "a.py". */
  what: string;
  /** Instead of the operation's name. */
  label?: string;
  title?: string;
  /** Asks the user first, instead of doing it at once. */
  ask?: () => void;
  /** Called after the operation was requested. */
  then?: () => void;
}

export function OperationButton({ operation, of, what, label, title, ask, then }: Props) {
  const { emit, link } = usePanel();
  const { running, operation: sent } = useActivity();
  const mine =
    sent && isOperation(sent.intent) && sent.intent.t === operation && same(sent.intent, of);
  const off = whyOff(operation, link, running, sent);
  const act = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    // The second click of a double click may hit another button.
    if (off !== null || event.detail > 1) return;
    if (ask) return ask();
    if (operation === "keep") focusOther(event.currentTarget);
    emit({ t: operation, ...of });
    then?.();
  };
  const word = label ?? WORDS[operation].name;
  return (
    <button
      type="button"
      class="acp-operation"
      data-acp-operation={operation}
      aria-label={`${word} ${what}`}
      aria-disabled={off !== null}
      title={off ?? title ?? ""}
      onClick={act}
    >
      {mine ? WORDS[operation].going : word}
    </button>
  );
}

function same(a: OfChanges, b: OfChanges): boolean {
  const files = (it: OfChanges) => it.files?.join() ?? "";
  return a.turn === b.turn && a.file === b.file && a.hunk === b.hunk && files(a) === files(b);
}

/** Why it cannot be done now; null if it can. */
function whyOff(
  operation: Operation,
  link: Link,
  running: boolean,
  sent: Sent | undefined,
): string | null {
  if (link === "gone") return "This session's kernel is gone";
  if (link !== "live") return "Not connected to the kernel";
  if (running && operation !== "keep")
    return "Wait until the turn has ended: the agent may still change files";
  return sent ? "Another operation is running" : null;
}

/** The button disappears when it is done; its neighbour stays. */
function focusOther(button: HTMLElement): void {
  const others = button.parentElement?.querySelectorAll<HTMLElement>("[data-acp-operation]") ?? [];
  [...others].find((it) => it !== button)?.focus({ preventScroll: true });
}

/** The progress of the pending operation, if it is this turn's; without a turn, the session's. */
export function OperationProgress({ turn }: { turn?: string }) {
  const { operation: sent } = useActivity();
  if (!sent || !isOperation(sent.intent) || sent.intent.turn !== turn) return null;
  if (sent.doing && sent.doing.of > 0) {
    const { at, of } = sent.doing;
    const count = `${at.toLocaleString("en")} of ${of.toLocaleString("en")} files`;
    return (
      <div class="acp-quiet" role="status" data-acp-doing={sent.intent.t}>
        {`${WORDS[sent.intent.t].going} ${count}`}
      </div>
    );
  }
  return sent.slow ? <Delivery slow what={sent.intent.t} /> : null;
}
