// What a turn shows, in order. A run of small reads and searches is one entry; a question belongs to its tool
// call, and a terminal to the call that shows it. Pure.

import type { Item, QuestionItem, ToolItem } from "../types";
import { capital } from "./display_text";

export type Entry =
  | { readonly type: "item"; readonly item: Item; readonly question?: QuestionItem }
  | { readonly type: "group"; readonly key: string; readonly tools: readonly ToolItem[] };

/** Shorter runs are shown one by one. */
export const GROUP_LEAST = 3;

const QUIET_KINDS: ReadonlySet<string> = new Set(["read", "search", "fetch"]);
const LOUD: ReadonlySet<string> = new Set(["diff", "terminal", "image", "audio"]);

export function entriesOf(items: readonly Item[], cited: ReadonlySet<string>): Entry[] {
  const tools = new Set(items.flatMap((item) => (item.type === "tool" ? [item.key] : [])));
  const asked = new Map<string, QuestionItem>();
  for (const item of items)
    if (item.type === "question" && item.tool !== null && tools.has(item.tool)) {
      // The newest one, but an open one rather than a settled one.
      const other = asked.get(item.tool);
      if (other?.status !== "open" || item.status === "open") asked.set(item.tool, item);
    }
  const flow = items.filter((item) => {
    if (item.type === "question") return item.tool === null || asked.get(item.tool) !== item;
    if (item.type === "terminal") return !cited.has(item.id);
    return item.type !== "turn" && item.type !== "changes"; // shown at the end of the turn
  });
  const entries: Entry[] = [];
  for (let at = 0; at < flow.length;) {
    const run = quietRun(flow, at, asked);
    if (run.length >= GROUP_LEAST) {
      // Named after its first call, so that it stays the same group while it grows.
      entries.push({ type: "group", key: `group:${run[0]?.key}`, tools: run });
      at += run.length;
      continue;
    }
    const item = flow[at++] as Item;
    const question = item.type === "tool" ? asked.get(item.key) : undefined;
    entries.push(question ? { type: "item", item, question } : { type: "item", item });
  }
  return entries;
}

function quietRun(
  flow: readonly Item[],
  from: number,
  asked: ReadonlyMap<string, QuestionItem>,
): ToolItem[] {
  const run: ToolItem[] = [];
  for (let at = from; at < flow.length; at++) {
    const item = flow[at] as Item;
    if (item.type !== "tool" || !isQuiet(item) || asked.has(item.key)) break;
    run.push(item);
  }
  return run;
}

/** Nothing in it that the reader should see at once. */
function isQuiet({ kind, status, content }: ToolItem): boolean {
  return (
    QUIET_KINDS.has(kind) && status !== "failed" && !content.some(({ type }) => LOUD.has(type))
  );
}

/** "Read 4 files, searched 2 times". */
export function groupTitle(tools: readonly ToolItem[]): string {
  const count = (kind: string) => tools.filter((tool) => tool.kind === kind).length;
  const [reads, searches, fetches] = [count("read"), count("search"), count("fetch")];
  const parts = [
    reads > 0 && `read ${reads} ${reads === 1 ? "file" : "files"}`,
    searches > 0 && (searches === 1 ? "searched once" : `searched ${searches} times`),
    fetches > 0 && `fetched ${fetches} ${fetches === 1 ? "page" : "pages"}`,
  ].filter((part) => part !== false);
  return capital(parts.join(", "));
}
