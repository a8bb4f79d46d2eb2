// The static output until the kernel has sent its own: the prompt and the text of a turn, as HTML without styles
// and as plain text. Everything is escaped; the same input gives the same output.

import { turnId } from "./turns";
import type { Turn } from "./turns";
import type { Bundle, Content, Item } from "./types";

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
  if (item.type === "tool") return { label: "tool", text: `${item.title} (${item.status})` };
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
