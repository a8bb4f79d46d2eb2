// Groups the items by turn, so that a change in one turn does not affect the views of others.

import type { Content, Item, RunContent, TerminalItem, TurnItem } from "./types";

export interface Turn {
  /** That of its start; for what is between two turns, a key of its own. */
  readonly key: string;
  /** null: the items before the first turn, or between a turn and the next one. */
  readonly start: TurnItem | null;
  /** The items of the turn, except its start. */
  readonly items: readonly Item[];
}

/** The turns, in order. A turn in which nothing changed is the same object as before. */
export function groupTurns(items: readonly Item[], before: readonly Turn[] = []): readonly Turn[] {
  const groups = new Map<string, { key: string; start: TurnItem | null; items: Item[] }>();
  let newest = "";
  for (const item of items) {
    if (item.type === "turn") newest = item.key;
    const key = item.turn ?? `${newest}+`;
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { key, start: null, items: [] }));
    if (item.type === "turn") group.start = item;
    else group.items.push(item);
  }
  const old = new Map(before.map((turn) => [turn.key, turn]));
  return Array.from(groups.values(), (turn) => {
    const was = old.get(turn.key);
    return was && same(was, turn) ? was : turn;
  });
}

function same(a: Turn, b: Turn): boolean {
  return (
    a.start === b.start &&
    a.items.length === b.items.length &&
    a.items.every((item, at) => item === b.items[at])
  );
}

export interface Terminals {
  readonly byId: ReadonlyMap<string, TerminalItem>;
  /** Terminals that a tool call shows; they are not shown a second time. */
  readonly cited: ReadonlySet<string>;
}

/** The terminals by id; the same object as before if nothing changed. */
export function terminalsOf(items: readonly Item[], before: Terminals): Terminals {
  const byId = new Map<string, TerminalItem>();
  const cited = new Set<string>();
  for (const item of items) {
    if (item.type === "terminal") byId.set(item.id, item);
    else if (item.type === "tool")
      for (const block of item.content) if (block.type === "terminal") cited.add(block.terminal_id);
  }
  const sameCited =
    cited.size === before.cited.size && [...cited].every((id) => before.cited.has(id));
  const sameItems =
    byId.size === before.byId.size && [...byId].every(([id, it]) => before.byId.get(id) === it);
  if (sameCited && sameItems) return before;
  return { byId: sameItems ? before.byId : byId, cited: sameCited ? before.cited : cited };
}

/** The newest turn; something that belongs to none may follow it. */
export function newestTurn(turns: readonly Turn[]): Turn | null {
  for (let at = turns.length - 1; at >= 0; at--) if (turns[at]?.start) return turns[at] ?? null;
  return null;
}

/** The turn's id for the kernel and the widgets. */
export function turnId(start: TurnItem): string {
  return start.id ?? start.key;
}

export function isRunning(start: TurnItem): boolean {
  return start.status === "running";
}

/** The call of another agent that waits for the user. */
export function asksUser(content: Content): content is RunContent {
  return content.type === "run" && content.status === "running" && content.session?.asks === true;
}

/** Whether the turn waits for the user: the agent asks, or another agent that it has asked does. */
export function isAsking(items: readonly Item[]): boolean {
  return items.some((item) =>
    item.type === "tool"
      ? item.content.some(asksUser)
      : (item.type === "question" || item.type === "elicitation") && item.status === "open",
  );
}
