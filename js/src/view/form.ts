// The content of a form while it is filled in, and the errors that a page can find. The kernel has the last word:
// it checks formats too, and reports errors by field. Pure.

import type { FormField, FormValues } from "../types";

/** The content of a field: text, whether it is checked, or the chosen values. */
export type Draft = string | boolean | readonly string[];

/** By field. A map, because agents may call a field anything, even "__proto__". */
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

/** The content before anything is filled in. */
export function draftsOf(fields: readonly FormField[]): Drafts {
  return new Map(fields.filter(({ type }) => KINDS.has(type)).map((it) => [it.name, draftOf(it)]));
}

function draftOf({ type, default: value }: FormField): Draft {
  if (type === "boolean") return value === true;
  if (type === "multiselect") return Array.isArray(value) ? value.map(String) : [];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** The values, and what is wrong with them. */
export function filled(
  fields: readonly FormField[],
  drafts: Drafts,
): { values: FormValues; wrong: Wrong } {
  const values: [string, FormValues[string]][] = [];
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

/** null means left empty on purpose, so that the default is not used. */
function valueOf({ type, required }: FormField, draft: Draft): FormValues[string] {
  if (typeof draft === "boolean") return draft;
  if (typeof draft !== "string") return draft.length === 0 && !required ? null : [...draft];
  if (draft.trim() === "") return null;
  return type === "number" || type === "integer" ? Number(draft.trim()) : draft;
}

function wrongWith(field: FormField, draft: Draft): string | null {
  if (typeof draft === "boolean") return null;
  const empty = draft.length === 0 || (typeof draft === "string" && draft.trim() === "");
  if (empty) return field.required ? "this field is required" : null;
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
