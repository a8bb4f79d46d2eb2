// What can be done with changed files: keep, undo, redo; for a hunk, a file, a turn, the session. A button
// that cannot be used now says why, and keeps the keyboard's focus; what was sent shows as sent.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Link, Sent } from "../store";
import type { OperationIntent, Emit, Intent, OfChanges } from "../types";
import { Delivery } from "./permission";

export type Operation = OperationIntent["t"];

export interface Doing {
  readonly emit: Emit;
  readonly link: Link;
  /** A turn runs: its files are the agent's. */
  readonly running: boolean;
  /** What is on its way to the kernel. */
  readonly sent: Sent | undefined;
}

export const DoingContext = createContext<Doing>({
  emit: () => undefined,
  link: "waiting",
  running: false,
  sent: undefined,
});

export function isDeed(intent: Intent): intent is OperationIntent {
  return intent.t === "undo" || intent.t === "redo" || intent.t === "keep";
}

/** The first of what was sent and is about changes: one at a time. */
export function sentDeed(sent: ReadonlyMap<string, Sent>): Sent | undefined {
  for (const it of sent.values()) if (isDeed(it.intent)) return it;
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
  /** What it is about, for who does not see where the button stands: "a.py". */
  what: string;
  /** Another word than the operation's own. */
  label?: string;
  title?: string;
  /** Instead of doing it at once. */
  ask?: () => void;
  /** After it was asked for. */
  then?: () => void;
}

export function OperationButton({ operation, of, what, label, title, ask, then }: Props) {
  const { emit, link, running, sent } = useContext(DoingContext);
  const mine = sent && isDeed(sent.intent) && sent.intent.t === operation && same(sent.intent, of);
  const off = whyOff(operation, link, running, sent);
  const act = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    // The second click of a double click may already meet another button.
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

/** Why it cannot be done now; null: it can. */
function whyOff(
  operation: Operation,
  link: Link,
  running: boolean,
  sent: Sent | undefined,
): string | null {
  if (link === "gone") return "The kernel of this session is gone";
  if (link !== "live") return "There is no connection to the kernel";
  if (running && operation !== "keep")
    return "Wait until the turn has ended: the agent may still change files";
  return sent ? "Another operation is running" : null;
}

/** The button goes when it is done; its neighbour stays. */
function focusOther(button: HTMLElement): void {
  const others = button.parentElement?.querySelectorAll<HTMLElement>("[data-acp-operation]") ?? [];
  [...others].find((it) => it !== button)?.focus({ preventScroll: true });
}

/** What has become of what was sent, if it was this turn's (without one: the session's). */
export function DeedDelivery({ turn }: { turn?: string }) {
  const { sent } = useContext(DoingContext);
  if (!sent || !isDeed(sent.intent) || sent.intent.turn !== turn) return null;
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
