// What the agent is doing now, in a few words: taken from the newest unfinished item, if it says more than
// that the agent works. Pure.

import type { Item } from "../types";
import { line } from "./display_text";
import { plainTitle, titleOf } from "./title";

/** A longer title is cut. */
const TITLE_CHARS = 80;

export function activityOf(items: readonly Item[], folder: string): string | null {
  const calls = (status: string) =>
    items.filter((item) => item.type === "tool" && item.status === status);
  const begun = calls("in_progress");
  const running = begun.length > 0 ? begun : calls("pending");
  const last = running.at(-1);
  if (last?.type === "tool") {
    const title = plainTitle(titleOf(last, folder));
    const cut = title.length > TITLE_CHARS ? `${title.slice(0, TITLE_CHARS)}…` : title;
    return running.length > 1 ? `${cut} and ${running.length - 1} more` : cut;
  }
  const newest = items.at(-1);
  if (newest?.type === "message" && newest.role === "thought") return "Thinking";
  if (newest?.type === "message" && newest.role === "agent") return "Writing";
  if (newest?.type === "terminal" && newest.status === "running")
    return line(newest.command ?? "Running a command");
  return null;
}
