// Completion of the @-name at the caret, by the kernel. One request at a time: what is written in the meantime is
// requested after the answer.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Emit, OfferedMessage } from "../types";
import type { Choice } from "./completion";
import { usePageId } from "./page_id";

/** After this long no answer will come: a busy kernel drops nothing, but a kernel that ends does. */
export const ANSWER_MS = 5000;
/** Longer names are not completed; core/intents.py refuses them. */
const MOST = 500;

const MENTION = /(?<![\w.@/\\+%-])@(?:"[^"\n]*|[^\s"'`()[\]{}<>,;!?@|]*)$/;

/** The beginning of an @-name before the caret; null if there is none, or the caret is within a word. */
export function mentionAt(text: string, caret: number): string | null {
  if (/^[\w."]/.test(text.slice(caret))) return null;
  const found = MENTION.exec(text.slice(0, caret))?.[0] ?? null;
  return found !== null && found.length <= MOST ? found : null;
}

/** The text and the caret after a name replaces the fragment before the caret. */
export function mentioned(text: string, caret: number, fragment: string, name: string) {
  const before = text.slice(0, caret - fragment.length) + name;
  const after = text.slice(caret);
  const open = name.endsWith("/") || /^\s/.test(after) ? "" : " ";
  return { text: before + open + after, caret: before.length + open.length };
}

/** Finds the mentions of a name; between backticks it is plain text. */
function mentionsOf(name: string): RegExp {
  const plain = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const end = "(?=[.:*]*(?:[\\s\"'`()[\\]{}<>,;!?@|\u2026\u201c\u201d\u2018\u2019\u00ab\u00bb]|$))";
  return new RegExp(`[ \\t]?(?<![\\w.@/\\\\+%\`-])@(?:"${plain}"|${plain}${end})`, "g");
}

export function mentions(text: string, name: string): boolean {
  return mentionsOf(name).test(text);
}

/** The text without the mentions of a name. */
export function unmentioned(text: string, name: string): string {
  return text.replace(mentionsOf(name), "").replace(/^[ \t]+/, "");
}

interface Asked {
  readonly rid: string;
  readonly at: number;
}

/** The completions, and a function that sets the name to complete. */
export function useMentions(
  offered: OfferedMessage | null,
  emit: Emit,
): { choices: readonly Choice[]; look: (fragment: string | null) => void } {
  const [fragment, setFragment] = useState<string | null>(null);
  const asked = useRef<Asked | null>(null);
  const mine = useRef<OfferedMessage | null>(null);
  const id = usePageId();
  const count = useRef(0);

  const ask = (next: string) => {
    if (asked.current && Date.now() - asked.current.at < ANSWER_MS) return;
    const rid = `${id}-${++count.current}`;
    asked.current = { rid, at: Date.now() };
    emit({ t: "complete", rid, fragment: next });
  };
  if (offered && offered.rid === asked.current?.rid) {
    asked.current = null;
    mine.current = offered;
  }
  const answered = mine.current?.fragment ?? null;
  useEffect(() => {
    if (fragment !== null && answered !== fragment) ask(fragment);
  }, [fragment, answered]);

  const look = (next: string | null) => {
    if (next === null) mine.current = null; // the next time there may be other names
    setFragment(next);
  };
  return { choices: fragment === null ? [] : fitting(mine.current, fragment), look };
}

/** The completions of an earlier answer that still match. */
function fitting(answer: OfferedMessage | null, fragment: string): Choice[] {
  if (!answer || !fragment.startsWith(answer.fragment)) return [];
  return answer.offered
    .filter(({ text }) => text.startsWith(fragment))
    .map(({ text, about }) => ({ name: text, hint: "", about }));
}
