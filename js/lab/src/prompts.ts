// The prompts of buttons and menus: a question, and the code that it is about. Pure.

/** A cell, as it is in the page. */
export interface AboutCell {
  /** The notebook's file name. */
  readonly notebook: string;
  readonly id: string;
  /** The number in its brackets. */
  readonly number: number | null;
  readonly type: string;
  readonly source: string;
  /** The selected part of it; empty if none is. */
  readonly selection: string;
  /** The error that it ended with; null if it did not. */
  readonly error: string | null;
  /** The user's variables that it uses. */
  readonly variables: readonly string[];
}

/** Characters of a traceback that are sent: its end says what happened. */
const MOST_TRACEBACK = 6000;

export const FIX = "This cell failed. Find the cause, and fix the cell.";
export const EXPLAIN = "Explain what this code does, step by step.";
export const LOOK = "Look at this code. What do you notice?";

/** The prompt that asks this about a cell. */
export function promptAbout(question: string, cell: AboutCell): string {
  return [question, contextOf(cell)].filter((part) => part !== "").join("\n\n");
}

/** What goes with the question. */
export function contextOf(cell: AboutCell): string {
  const { selection, source, error, variables, type } = cell;
  const code = selection || source;
  const parts = [
    `${selection ? "The selected part of cell" : "Cell"}${nameOf(cell)}:\n${fenced(code, type === "code" ? "python" : "")}`,
    error === null ? "" : `It ended with:\n${fenced(ending(error), "")}`,
    variables.length > 0 ? `Variables in it: ${variables.map((name) => `@${name}`).join(" ")}` : "",
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function nameOf({ number, id, notebook }: AboutCell): string {
  return `${Number.isInteger(number) ? ` [${number}]` : ""} of ${quoted(notebook)} (id ${quoted(id)})`;
}

/** A name, as code that nothing in it can end: files can have any. */
function quoted(name: string): string {
  return `\`${name.replace(/[\s\p{C}`@"']+/gu, " ").trim()}\``;
}

/** A fence longer than any in the text, so that none of it can end it. */
export function fenced(text: string, language: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${fence}${language}\n${text.replace(/\n+$/, "")}\n${fence}`;
}

function ending(traceback: string): string {
  if (traceback.length <= MOST_TRACEBACK) return traceback;
  return `…${traceback.slice(-MOST_TRACEBACK)}`;
}

/** A traceback without its colours. */
export function plainText(text: string): string {
  return text.replace(/\u001b\[[0-9;:?]*[ -/]*[@-~]/g, "");
}
