// Searches the conversation by its data, so that what is folded or not drawn is found, too. Pure.

import type { Terminals, Turn } from "../turns";
import type { Content, Item, RunContent } from "../types";
import { entriesOf } from "./entries";

/** An occurrence of the text that is searched for. */
export interface Hit {
  /** The key of the turn; empty before the first. */
  readonly turn: string;
  /** The key of the entry that shows the item (see `entriesOf`); null: the prompt. */
  readonly entry: string | null;
  /** The key of the item. */
  readonly item: string;
  /** How many occurrences are before it in the item. */
  readonly at: number;
}

/** More are not counted: nobody looks at all of them. */
export const MOST_HITS = 1000;

/** How long a step of a search may take, so that the page can draw in between. */
export const STEP_MS = 8;

/** What is searched for: any case, and any white space between words. Null if there is nothing to find. */
export function patternOf(query: string): RegExp | null {
  const words = query.split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return null;
  const exact = words.map((word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
  return new RegExp(exact.join("\\s+"), "gi");
}

/** Yields all hits, in the order of the conversation; yields null where it can pause. */
export function* hitsIn(
  turns: readonly Turn[],
  terminals: Terminals,
  pattern: RegExp,
): Generator<Hit | null> {
  for (const { key: turn, start, items } of turns) {
    if (start)
      yield* hitsOf({ turn, entry: null, item: turn }, contentTexts(start.prompt), pattern);
    for (const entry of entriesOf(items, terminals.cited)) {
      const [key, shown] =
        entry.type === "group" ? [entry.key, entry.tools] : [entry.item.key, [entry.item]];
      for (const item of shown) {
        yield* hitsOf({ turn, entry: key, item: item.key }, textsOf(item, terminals), pattern);
        yield null;
      }
    }
  }
}

function* hitsOf(
  where: Omit<Hit, "at">,
  texts: readonly string[],
  pattern: RegExp,
): Generator<Hit | null> {
  let at = 0;
  for (const text of texts) {
    for (const _ of text.matchAll(pattern)) yield { ...where, at: at++ };
  }
}

/** The texts of an item that its view shows, or shows when it is opened. */
export function textsOf(item: Item, { byId }: Terminals): string[] {
  switch (item.type) {
    case "message":
      return contentTexts(item.content, byId);
    case "tool": {
      const named = [item.title, item.command ?? ""].filter((text) => text !== "");
      // A command is often the title, too, and drawn once.
      return [...new Set(named), ...contentTexts(item.content, byId)];
    }
    case "plan":
      return [...(item.entries ?? []).map(({ content }) => content), item.text ?? ""];
    case "terminal":
      return [item.command ?? "", withoutColours(item.output)];
    case "notice":
      return [item.title, item.description ?? ""];
    case "elicitation":
      return [item.title ?? "", item.message];
    case "compaction":
      return contentTexts(item.summary, byId);
    default:
      return [];
  }
}

function contentTexts(
  blocks: readonly Content[],
  terminals: Terminals["byId"] = new Map(),
): string[] {
  return blocks.flatMap((block): string[] => {
    switch (block.type) {
      case "text":
        return [block.text];
      case "resource":
        return [block.uri, block.text ?? ""];
      case "resource_link":
        return [block.title ?? block.name];
      case "diff":
        return [removedLines(block.old_text ?? "", block.new_text), block.new_text];
      case "terminal": {
        const shown = terminals.get(block.terminal_id);
        return shown ? [shown.command ?? "", withoutColours(shown.output)] : [];
      }
      case "run":
        return runTexts(block);
      default:
        return [];
    }
  });
}

function runTexts({ code, outputs, cells, function: called = "", ...run }: RunContent): string[] {
  const parts = [...outputs, ...cells.flatMap((cell) => cell.outputs)].map((output) =>
    withoutColours(output.type === "error" ? output.traceback : output.text),
  );
  const given = (run.arguments ?? []).flat();
  return [code, called, ...given, ...cells.map(({ source }) => source), ...parts];
}

/** Lines that are only in the old text: the others are in the new one, too. */
function removedLines(old: string, now: string): string {
  const kept = new Set(now.split("\n"));
  return old
    .split("\n")
    .filter((line) => !kept.has(line))
    .join("\n");
}

// eslint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)/g;

function withoutColours(text: string): string {
  return text.includes("\x1b") ? text.replace(ESCAPES, "") : text;
}
