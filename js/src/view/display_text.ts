// Text of agents made safe to display: bounded, and with nothing hidden in it.

import { visible } from "../text/visible";
import type { Json } from "../types";

/** Lines of a text in a tool call: enough to see what it is. */
export const LINES = 200;
/** Characters of one line: longer ones are generated. */
export const LINE_CHARS = 2000;

/** A title, a path, a command, the name of an option: one line, everything in it visible. */
export function line(text: string): string {
  return visible(text.replace(/\s*\r?\n\s*/g, " ⏎ "));
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

/** A number of bytes for people. */
export function size(count: number): string {
  if (count < 1000) return `${count} B`;
  return count < 1e6 ? `${Math.round(count / 1000)} kB` : `${(count / 1e6).toFixed(1)} MB`;
}

const REASONS: Record<string, string> = {
  end_turn: "Done",
  cancelled: "Stopped",
  max_tokens: "Stopped: the answer reached its maximum length",
  max_turn_requests: "Stopped: the turn reached its maximum number of requests",
  refusal: "The agent refused to go on",
};

export function stopReason(reason: string | undefined): string {
  return reason === undefined ? "Done" : (REASONS[reason] ?? `Ended: ${line(reason)}`);
}

/** " by “Ada”". A name is what a page claims: in quotation marks, it is none of our own words. */
export function named(person: string | undefined): string {
  return person ? ` by “${line(person)}”` : "";
}

/** An error without the name of the method that failed. */
export function reason(text: string): string {
  return line(text.replace(/(^|: )(?:authenticate|logout|session\/[a-z_]+): /, "$1"));
}

/** A status or a kind as words: in_progress is "in progress". */
export function spoken(name: string): string {
  return line(name.replaceAll("_", " "));
}

/** As a sentence begins. */
export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
