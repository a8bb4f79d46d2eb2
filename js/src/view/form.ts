// What stands in a form while it is filled in, and what is wrong with it as far as a page can tell. The
// kernel has the last word: it knows formats too, and what it says comes back field by field.
// Pure.

import type { Fields, FormField, Json } from "../types";

/** What stands in a field: a text as it is written, whether it is ticked, what is chosen. */
export type Draft = string | boolean | readonly string[];

/** By field. A map: agents may call a field anything, "__proto__" too. */
export type Drafts = ReadonlyMap<string, Draft>;
export type Wrong = ReadonlyMap<string, string>;

export const KINDS: ReadonlySet<string> = new Set([
  "string",
  "number",
  "integer",
  "boolean",
  "select",
  "multiselect",
]);

/** How it stands before anything is filled in. */
export function draftsOf(fields: readonly FormField[]): Drafts {
  return new Map(fields.filter(({ type }) => KINDS.has(type)).map((it) => [it.name, draftOf(it)]));
}

function draftOf({ type, default: value }: FormField): Draft {
  if (type === "boolean") return value === true;
  if (type === "multiselect") return Array.isArray(value) ? value.map(String) : [];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** The answer, and what is wrong with it. A field that is left empty is left out. */
export function filled(
  fields: readonly FormField[],
  drafts: Drafts,
): { values: Fields; wrong: Wrong } {
  const values: [string, Json][] = [];
  const wrong = new Map<string, string>();
  for (const field of fields) {
    const draft = drafts.get(field.name);
    if (draft === undefined) continue;
    const why = wrongWith(field, draft);
    if (why !== null) wrong.set(field.name, why);
    values.push([field.name, valueOf(field, draft)]);
  }
  return { values: Object.fromEntries(values), wrong };
}

/** null says that it is left empty on purpose: a default does not come back for it. */
function valueOf({ type, required }: FormField, draft: Draft): Json {
  if (typeof draft === "boolean") return draft;
  if (typeof draft !== "string") return draft.length === 0 && !required ? null : [...draft];
  if (draft.trim() === "") return null;
  return type === "number" || type === "integer" ? Number(draft.trim()) : draft;
}

function wrongWith(field: FormField, draft: Draft): string | null {
  if (typeof draft === "boolean") return null;
  const empty = draft.length === 0 || (typeof draft === "string" && draft.trim() === "");
  if (empty) return field.required ? "this is needed" : null;
  if (typeof draft !== "string") return bounded(field, draft.length, "choose ", "");
  if (field.type === "string") return bounded(field, [...draft].length, "", " characters");
  if (field.type !== "number" && field.type !== "integer") return null;
  const number = Number(draft.trim());
  if (!Number.isFinite(number) || (field.type === "integer" && !Number.isInteger(number)))
    return field.type === "integer" ? "it must be a whole number" : "it must be a number";
  return bounded(field, number, "", "");
}

function bounded(
  { least, most }: FormField,
  size: number,
  before: string,
  after: string,
): string | null {
  if (least !== undefined && size < least) return `${before}at least ${least}${after}`;
  if (most !== undefined && size > most) return `${before}at most ${most}${after}`;
  return null;
}
