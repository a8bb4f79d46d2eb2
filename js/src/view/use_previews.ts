// What the @-names of the draft will attach, by the kernel: asked for after a pause, one request at a time.

import { useEffect, useRef } from "preact/hooks";
import type { MentionPreview, PreviewedMessage } from "../types";
import { ANSWER_MS, mentions } from "./mentions";
import { usePageId } from "./page_id";
import { usePanel } from "./panel";

/** Nobody reads sizes while typing. */
export const PAUSE_MS = 400;
/** While a cell runs, its objects cannot be measured. */
const BUSY_MS = 3000;
/** Longer prompts are not previewed; core/intents.py refuses them. */
const MOST = 20_000;

interface Asked {
  readonly rid: string;
  readonly text: string;
  readonly at: number;
}

/** `paused`: a name is being written. */
export function usePreviews(
  text: string,
  previewed: PreviewedMessage | null,
  paused: boolean,
): readonly MentionPreview[] {
  const { emit } = usePanel();
  const id = usePageId();
  const count = useRef(0);
  const asked = useRef<Asked | null>(null);
  const latest = useRef<{ text: string; mentions: readonly MentionPreview[] } | null>(null);
  if (previewed && previewed.rid === asked.current?.rid) {
    latest.current = { text: asked.current.text, mentions: previewed.mentions };
    asked.current = null;
  }
  const wanted = text.includes("@") && text.length <= MOST ? text : null;
  if (wanted === null) latest.current = null;
  const previews = latest.current?.mentions ?? [];
  useEffect(() => {
    if (wanted === null || paused) return undefined;
    const same = latest.current?.text === wanted;
    if (same && !previews.some(({ status }) => status === "busy")) return undefined;
    const ask = () => {
      if (asked.current && Date.now() - asked.current.at < ANSWER_MS) return;
      const rid = `${id}-${++count.current}`;
      asked.current = { rid, text: wanted, at: Date.now() };
      emit({ t: "preview", rid, text: wanted });
    };
    const timer = setTimeout(ask, same ? BUSY_MS : PAUSE_MS);
    return () => clearTimeout(timer);
  }, [wanted, paused, previewed]);
  return previews.filter(({ name }) => mentions(text, name));
}
