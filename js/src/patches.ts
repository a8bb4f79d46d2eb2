// Patches: the four kinds of change to a transcript's state: add, append, set, remove. Mirrors core/patches.py;
// knows nothing about the meaning of items. Never changes the state in place: it copies what a patch touches along
// its path, and everything else keeps its identity, so that a view knows that it need not render again.

import { never } from "./types";
import type { Header, Item, Json, Path, State, WirePatch } from "./types";

export const EMPTY: State = { session: { key: "session" }, items: [] };

/** The state after these patches. Throws if one does not fit, because an earlier one was lost. */
export function applyPatches(state: State, patches: readonly WirePatch[]): State {
  let session = state.session;
  let items: readonly Item[] = state.items;
  let own: Item[] | null = null; // one copy of the list for all patches
  const writable = (): Item[] => (items = own ??= [...items]) as Item[];
  for (const patch of patches) {
    switch (patch[0]) {
      case "add":
        if (patch[1].key === "session") session = patch[1] as Header;
        else writable().push(patch[1] as Item);
        break;
      case "remove":
        writable().splice(place(items, patch[1]), 1);
        break;
      case "append":
      case "set": {
        const [word, key, path, value] = patch;
        const change = word === "set" ? () => value : (old: Json | undefined) => joined(old, value);
        if (key === "session") session = changed(session, path, change);
        else {
          const at = place(items, key);
          writable()[at] = changed(items[at], path, change) as Item;
        }
        break;
      }
      default:
        never(patch);
    }
  }
  return { session, items };
}

/** The index of an item, searched from the end: nearly every patch changes the newest. */
function place(items: readonly Item[], key: string): number {
  for (let at = items.length - 1; at >= 0; at--) if (items[at]?.key === key) return at;
  throw new Error(`no item ${key}`);
}

type Change = (old: Json | undefined) => Json;

function changed<T>(value: T, path: Path, change: Change, depth = 0): T {
  if (depth === path.length) return change(value as Json) as T;
  const step = path[depth] as string | number;
  if (Array.isArray(value)) {
    if (typeof step !== "number" || step >= value.length) throw new Error(`no entry ${step}`);
    const copy = value.slice();
    copy[step] = changed(copy[step], path, change, depth + 1);
    return copy as T;
  }
  if (typeof value !== "object" || value === null) throw new Error(`nothing below ${step}`);
  const fields = value as Record<string, unknown>;
  return { ...fields, [step]: changed(fields[step], path, change, depth + 1) } as T;
}

function joined(old: Json | undefined, value: Json): Json {
  if (typeof old === "string" && typeof value === "string") return old + value;
  if (Array.isArray(old) && Array.isArray(value)) return [...old, ...value];
  throw new Error("append to what is neither text nor list");
}
