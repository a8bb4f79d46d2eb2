// The changes that the cards of their tool calls show, so that nothing has to repeat them. Pure.

import type { ChangesItem, FileChange, Item, ToolItem } from "../types";

/** A change in the card of the only tool call that made it. */
export interface OwnChange {
  readonly file: FileChange;
  readonly turn: string;
  /** It is all that the turn changed: there is no summary. */
  readonly alone: boolean;
}

export type OwnChanges = ReadonlyMap<string, OwnChange>;

export const NO_CHANGES: OwnChanges = new Map();

/** By the key of the tool call. A call that changed several files, and a file that several calls changed, are
    left to the summary. `isShown`: whether the card is drawn, by itself. */
export function ownChanges(
  items: readonly Item[],
  isShown: (tool: ToolItem) => boolean,
): OwnChanges {
  const changes = items.find((item): item is ChangesItem => item.type === "changes");
  if (!changes || changes.files.length === 0) return NO_CHANGES;
  const tools = items.filter((item): item is ToolItem => item.type === "tool");
  const byTool = new Map<string, FileChange[]>();
  for (const file of changes.files)
    if (file.tool !== undefined) byTool.set(file.tool, [...(byTool.get(file.tool) ?? []), file]);
  const found = new Map<string, OwnChange>();
  for (const tool of tools) {
    const [file, ...more] = byTool.get(tool.key) ?? [];
    if (!file || more.length > 0 || !isShown(tool)) continue;
    if (tools.some((it) => it !== tool && shows(it, file.path))) continue;
    const turn = changes.turn ?? "";
    found.set(tool.key, { file, turn, alone: changes.files.length === 1 });
  }
  return found;
}

function shows({ content, status }: ToolItem, path: string): boolean {
  return status !== "rejected" && content.some((it) => it.type === "diff" && it.path === path);
}
