// The static outputs that the page makes: of a whole session from the kernel's outputs of its parts; and, until the
// kernel has sent one, the prompt and the text of a turn. What is not the kernel's is escaped; the same input gives
// the same output.

import { turnId } from "./turns";
import type { Turn } from "./turns";
import type { Bundle, Content, Item, Json, StaticMessage } from "./types";

/** The type of the structured transcript: of a turn a line of JSON, of a session several. */
export const TRANSCRIPT = "application/vnd.acp-notebook.transcript+json";

/** The type of a fan-out's table, and what its place has instead of a turn. */
export const RUNS = "application/vnd.acp-notebook.runs+json";

/** Characters of a whole session; its oldest parts are left out first (notebook/static_bundle.py). */
export const WHOLE_CHARS = 4_000_000;

const NOTHING_YET = "Agent: nothing to show yet.";

/** One turn by its id, or with null the whole session. */
export function minimalBundle(turns: readonly Turn[], id: string | null): Bundle {
  const mine = id === null ? turns : turns.filter(({ start }) => start && turnId(start) === id);
  const parts = mine.flatMap(partsOf);
  if (parts.length === 0) parts.push({ label: "", text: NOTHING_YET });
  return {
    "text/html": `<div class="acp-static">${parts.map(html).join("")}</div>`,
    "text/plain": parts.map(({ label, text }) => (label ? `${label}: ${text}` : text)).join("\n\n"),
  };
}

/**
 * A whole session: its parts in order, or a reference to those that the file has elsewhere. `output` finds the kernel's
 * output of a part, `other` is used for a part that it has not sent.
 */
export function wholeBundle(
  whole: StaticMessage,
  output: (name: string) => StaticMessage | undefined,
  other: (name: string) => Bundle,
  elsewhere: ReadonlySet<string>,
): Bundle {
  if (whole.parts.length === 0) return whole.bundle;
  const kept: Bundle[] = [];
  let room = WHOLE_CHARS;
  for (const name of [...whole.parts].reverse()) {
    const made = output(name);
    const bundle = elsewhere.has(name) ? referenceTo(made) : (made?.bundle ?? other(name));
    room -= JSON.stringify(bundle).length;
    if (room < 0 && kept.length > 0) break;
    kept.unshift(bundle);
  }
  const missing = whole.parts.length - kept.length;
  if (missing > 0) kept.unshift(leftOut(missing));
  const forms = (type: string) => kept.flatMap((bundle) => (type in bundle ? [bundle[type]] : []));
  const lines = forms(TRANSCRIPT);
  const head = whole.bundle[TRANSCRIPT] ?? null;
  return {
    "text/html": forms("text/html").join("\n") + RUN_TO_CONTINUE,
    "text/plain": forms("text/plain").join("\n\n") || CONVERSATION,
    [TRANSCRIPT]: lines.length > 0 ? [head, ...(lines as Json[])] : head,
  };
}

const RUN_TO_CONTINUE = "<p><small>Run this cell to continue.</small></p>";

const CONVERSATION = "A conversation with an agent.";

function referenceTo(output: StaticMessage | undefined): Bundle {
  return output?.reference ? { "text/html": output.reference } : {};
}

function leftOut(count: number): Bundle {
  const text = `… ${count} earlier turns left out here, to keep the notebook small`;
  return { "text/html": `<p>${text}</p>`, "text/plain": text };
}

/** The turn that a saved transcript is of; null for a whole session, undefined for anything else. */
export function turnOf(transcript: Json | undefined): string | null | undefined {
  const line = Array.isArray(transcript) ? transcript[0] : transcript;
  try {
    const saved: unknown = typeof line === "string" ? JSON.parse(line) : null;
    if (typeof saved !== "object" || saved === null || !("acp_transcript" in saved))
      return undefined;
    if ("parts" in saved) return null;
    return "name" in saved ? String(saved.name) : undefined;
  } catch {
    return undefined;
  }
}

interface Part {
  label: string;
  text: string;
}

function partsOf({ start, items }: Turn): Part[] {
  const parts: Part[] = start ? [{ label: "Prompt", text: textOf(start.prompt) }] : [];
  for (const item of items) {
    const part = partOf(item);
    if (part && part.text) parts.push(part);
  }
  return parts;
}

function partOf(item: Item): Part | null {
  if (item.type === "message") return { label: item.role, text: textOf(item.content) };
  if (item.type === "tool") return { label: "", text: item.title };
  return null;
}

export function textOf(content: readonly Content[]): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

function html({ label, text }: Part): string {
  const heading = label ? `<p><strong>${escape(label)}</strong></p>` : "";
  return `${heading}<pre style="white-space: pre-wrap">${escape(text)}</pre>`;
}

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
