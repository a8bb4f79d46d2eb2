// Foreign text made safe to read: bounded, and with nothing hidden in it.

import type { Json } from "../types";

/** Of a text in a tool call or a diff: enough to see what it is. */
export const LINES = 200;
/** Of one line: longer ones are machines' work. */
export const LINE_CHARS = 2000;

/** Control, invisible and direction-changing characters: they make a command look like another one. */
const DECEIVING =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

function codePoint(character: string): string {
  const number = character.codePointAt(0) ?? 0;
  return `‹U+${number.toString(16).toUpperCase().padStart(4, "0")}›`;
}

/** The text with nothing hidden in it; its line ends stay. */
export function visible(text: string): string {
  return text.replace(DECEIVING, codePoint);
}

/** A title, a path, a command, the name of an option: one line, everything in it visible. */
export function line(text: string): string {
  return visible(text.replace(/\s*\r?\n\s*/g, " ⏎ "));
}

/** What a tool call goes by. Agents put commands between backticks. */
export function titleOf(tool: { title: string; name?: string; id: string }): string {
  const title = tool.title || tool.name || tool.id;
  return line(/^`[^`]+`$/.test(title.trim()) ? title.trim().slice(1, -1) : title);
}

/** The first lines, and how many are missing. */
export function bounded(lines: readonly string[], limit = LINES): string[] {
  const shown = lines.slice(0, limit).map(short);
  if (lines.length > limit) shown.push(`… ${lines.length - limit} more lines`);
  return shown;
}

function short(text: string): string {
  if (text.length <= LINE_CHARS) return text;
  return `${text.slice(0, LINE_CHARS)}… ${text.length - LINE_CHARS} more characters`;
}

/** A tool's output or a file: everything in it visible, bounded. */
export function code(text: string): string {
  return bounded(text.replace(/\r\n?/g, "\n").split("\n")).map(visible).join("\n");
}

export function json(value: Json | undefined): string {
  return code(JSON.stringify(value, null, 2) ?? "");
}

const REASONS: Record<string, string> = {
  end_turn: "Done",
  cancelled: "Stopped",
  max_tokens: "Stopped: the answer reached its greatest length",
  max_turn_requests: "Stopped: the agent made as many requests as one turn may",
  refusal: "The agent refused to go on",
};

export function stopReason(reason: string | undefined): string {
  return reason === undefined ? "Done" : (REASONS[reason] ?? `Ended: ${line(reason)}`);
}

/** A status or a kind as words: in_progress is "in progress". */
export function spoken(name: string): string {
  return line(name.replaceAll("_", " "));
}
