// The colours of a diff's lines: both sides are highlighted as the code that they are, and split into lines. Pure;
// takes linear time, and only the first part of a big change is coloured, in steps.

import { MAX_CHARS, highlight } from "../text/highlight";
import type { Part } from "../text/highlight";
import { languageOf } from "../text/fence";
import type { Line, Row } from "./diff_rows";

/** A piece of a line, up to this place in it, in one colour. */
export interface Span {
  readonly end: number;
  readonly style: string;
}

/** Of all lines that were highlighted. */
export type Colours = ReadonlyMap<Line, readonly Span[]>;

const NONE: Colours = new Map();

/** As much of each side is coloured before it is drawn: the first rows of most changes, in a few milliseconds. */
const FIRST_CHARS = 4_000;

/** The language of a file, by its name. The diff of a notebook shows its cells. */
export function languageOfFile(path: string): string {
  const ending = /\.(\w{1,12})$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return ending === "ipynb" ? "python" : languageOf(ending);
}

/** The colours of the first lines. */
export function firstColours(rows: readonly Row[], language: string): Colours {
  const steps = colouring(rows, language, FIRST_CHARS);
  for (;;) {
    const { value } = steps.next();
    if (value) return value;
  }
}

/** Whether these rows may get colours that they do not have. `inGaps`: those in the gaps, too. */
export function lacks(rows: readonly Row[], colours: Colours, inGaps: boolean): boolean {
  if (colours === NONE) return false;
  return rows.some((row) => {
    if (row.kind === "gap") return inGaps && row.lines.some((it) => !colours.has(it));
    return row.kind !== "note" && !colours.has(row);
  });
}

/** Yields null after the first side, and returns the colours. */
export function* colouring(
  rows: readonly Row[],
  language: string,
  most = MAX_CHARS,
): Generator<null, Colours> {
  if (language === "" || rows.length === 0) return NONE;
  const found = new Map<Line, readonly Span[]>();
  for (const side of ["gone", "new"] as const) {
    const lines = first(linesOf(rows, side), most);
    const parts = highlight(lines.map(({ text }) => text).join("\n"), language);
    if (parts === null) return NONE;
    const spans = spansByLine(parts);
    // An unchanged line is on both sides: the new one says what it is now.
    lines.forEach((line, at) => found.set(line, spans[at] ?? []));
    if (side === "gone") yield null;
  }
  return found;
}

/** The lines of one side: with those in the gaps, which may open a string, if there is room for them. */
function linesOf(rows: readonly Row[], side: "gone" | "new"): Line[] {
  const of = (gaps: boolean) =>
    rows.flatMap((row): readonly Line[] => {
      if (row.kind === "gap") return gaps ? row.lines : [];
      return row.kind === "same" || row.kind === side ? [row] : [];
    });
  const all = of(true);
  return first(all, MAX_CHARS).length === all.length ? all : of(false);
}

/** As many as have so many characters. */
function first(lines: readonly Line[], most: number): Line[] {
  let left = most;
  const end = lines.findIndex(({ text }) => (left -= text.length + 1) < 0);
  return end < 0 ? [...lines] : lines.slice(0, end);
}

function spansByLine(parts: readonly Part[]): Span[][] {
  const lines: Span[][] = [[]];
  let end = 0;
  const add = (part: Part, style: string): void => {
    if (typeof part !== "string") {
      for (const it of part.parts) add(it, part.style || style);
      return;
    }
    part.split("\n").forEach((text, at) => {
      if (at > 0) {
        lines.push([]);
        end = 0;
      }
      end += text.length;
      if (text !== "") lines.at(-1)?.push({ end, style });
    });
  };
  for (const part of parts) add(part, "");
  return lines.map((spans) => (spans.some(({ style }) => style !== "") ? spans : []));
}

/** A text that starts at that place of its line, split where the colour changes. */
export function split(text: string, from: number, spans: readonly Span[]): [string, string][] {
  const made: [string, string][] = [];
  let at = from;
  for (const { end, style } of spans) {
    if (end <= at) continue;
    const to = Math.min(end, from + text.length);
    made.push([text.slice(at - from, to - from), style]);
    at = to;
    if (at === from + text.length) return made;
  }
  made.push([text.slice(at - from), ""]);
  return made;
}
