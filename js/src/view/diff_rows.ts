// A diff as rows: removed and added lines with their numbers and the words that differ, and a few unchanged lines
// around them. Pure; does not know how rows are drawn.

import { emptyLines, isBlank, isLongGap } from "../text/visible";
import { compare } from "./sequence_diff";

/** A part of a line; `marked`: it differs; `marker`: it names invisible characters. */
export interface Piece {
  readonly text: string;
  readonly marked: boolean;
  readonly marker?: boolean;
}

export interface Line {
  readonly kind: "same" | "gone" | "new";
  /** Its number in the old file, in the new one; from 1. */
  readonly old: number | undefined;
  readonly now: number | undefined;
  readonly text: string;
  /** The same text. Computed on demand: only the first lines of a big change are shown. */
  readonly pieces: readonly Piece[];
}

/** Unchanged lines that are left out. */
export interface Gap {
  readonly kind: "gap";
  readonly lines: readonly Line[];
}

/** A remark on the line above. */
export interface Note {
  readonly kind: "note";
  readonly text: string;
}

export type Row = Line | Gap | Note;

export interface Change {
  readonly rows: readonly (Line | Gap)[];
  readonly gone: number;
  readonly added: number;
}

/** Unchanged lines shown before and after each change. */
const CONTEXT = 3;
/** Fewer unchanged lines than this are shown: a note about them would take as much space. */
const LEAST_GAP = 3;
/** A line longer than this is not compared by words. */
const WORDS_CHARS = 1000;
/** A change of more lines than this is not compared by words. */
const WORDS_LINES = 100;
/** Below this share of equal text a line was replaced rather than changed. */
const ALIKE = 0.35;

/** Gives the pieces of the line at a place in its run. */
type Pieces = (kind: Line["kind"], at: number) => readonly Piece[];

class TextLine implements Line {
  constructor(
    readonly kind: Line["kind"],
    readonly old: number | undefined,
    readonly now: number | undefined,
    readonly text: string,
    private readonly of: Pieces,
    private readonly at: number,
  ) {}

  get pieces(): readonly Piece[] {
    return this.of(this.kind, this.at);
  }
}

export function changeOf(before: string, after: string): Change {
  const [old, now] = [linesOf(before), linesOf(after)];
  const all: Line[] = [];
  let [gone, added] = [0, 0];
  const runs = compare(old, now);
  const whole: Pieces = (_, at) => plain(old[at]);
  for (let at = 0; at < runs.length; at++) {
    const run = runs[at] as (typeof runs)[number];
    const next = runs[at + 1];
    if (run.kind === "same") {
      for (let line = run.old[0], other = run.now[0]; line < run.old[1]; line++, other++)
        all.push(new TextLine("same", line + 1, other + 1, old[line] ?? "", whole, line));
      continue;
    }
    const left = old.slice(...run.old);
    const right =
      run.kind === "new"
        ? now.slice(...run.now)
        : next?.kind === "new"
          ? now.slice(...next.now)
          : [];
    const [oldFrom, nowFrom] = [run.old[0], run.kind === "new" ? run.now[0] : (next?.now[0] ?? 0)];
    const pieces = wordByWord(left, right);
    left.forEach((text, index) => {
      all.push(new TextLine("gone", oldFrom + index + 1, undefined, text, pieces, index));
    });
    right.forEach((text, index) => {
      all.push(new TextLine("new", undefined, nowFrom + index + 1, text, pieces, index));
    });
    gone += left.length;
    added += right.length;
    if (run.kind === "gone" && right.length > 0) at++;
  }
  return { rows: withGaps(all), gone, added };
}

/** A part of a change, whose lines have their signs in front. */
export interface SignedLines {
  readonly old_start: number;
  readonly new_start: number;
  readonly lines: readonly string[];
}

export function hunkRows({ old_start, new_start, lines }: SignedLines): Row[] {
  const rows: Row[] = [];
  let [old, now] = [old_start, new_start];
  for (let at = 0; at < lines.length;) {
    const block = changedFrom(lines, at);
    if (block.length === 0) {
      const text = (lines[at++] ?? "").slice(1);
      rows.push(new TextLine("same", old++, now++, text, () => plain(text), 0));
      continue;
    }
    const side = (sign: string) =>
      block.filter((it) => it.startsWith(sign)).map((it) => it.slice(1));
    const pieces = wordByWord(side("-"), side("+"));
    let [left, right] = [0, 0];
    for (const signed of block) {
      const text = signed.slice(1);
      if (signed.startsWith("-"))
        rows.push(new TextLine("gone", old++, undefined, text, pieces, left++));
      else if (signed.startsWith("+"))
        rows.push(new TextLine("new", undefined, now++, text, pieces, right++));
      else rows.push({ kind: "note", text: text.trim() });
    }
    at += block.length;
  }
  return rows;
}

/** The changed lines from there on. */
function changedFrom(lines: readonly string[], from: number): readonly string[] {
  let to = from;
  while (to < lines.length && /^[-+\\]/.test(lines[to] ?? "")) to++;
  return lines.slice(from, to);
}

export function linesOf(text: string): string[] {
  if (text === "") return [];
  const all = text.split("\n");
  return all.at(-1) === "" ? all.slice(0, -1) : all;
}

function plain(text = ""): Piece[] {
  return [{ text, marked: false }];
}

function withGaps(lines: readonly Line[]): (Line | Gap)[] {
  const keep = new Uint8Array(lines.length);
  lines.forEach(({ kind }, at) => {
    if (kind !== "same") keep.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const rows: (Line | Gap)[] = [];
  for (let at = 0; at < lines.length; at++) {
    if (keep[at]) {
      rows.push(lines[at] as Line);
      continue;
    }
    let end = at;
    while (end < lines.length && !keep[end]) end++;
    if (end - at < LEAST_GAP) rows.push(...lines.slice(at, end));
    else rows.push({ kind: "gap", lines: lines.slice(at, end) });
    at = end - 1;
  }
  return rows;
}

/** Draw many blank lines in a row as one that says how many, so that what follows stays in sight. */
export function withoutLongGaps(rows: readonly Row[]): Row[] {
  const made: Row[] = [];
  for (let at = 0; at < rows.length;) {
    let end = at;
    while (end < rows.length && isBlankLine(rows[end], rows[at]?.kind)) end++;
    const first = rows[at] as Line;
    if (isLongGap(end - at)) {
      const named: Piece = { ...emptyLines(end - at), marked: false };
      made.push(new TextLine(first.kind, first.old, first.now, named.text, () => [named], 0));
    } else made.push(...rows.slice(at, Math.max(end, at + 1)));
    at = Math.max(end, at + 1);
  }
  return made;
}

function isBlankLine(row: Row | undefined, kind: Row["kind"] | undefined): boolean {
  if (row === undefined || row.kind !== kind || row.kind === "gap" || row.kind === "note")
    return false;
  return row.pieces.every(({ text }) => isBlank(text));
}

// ---- words

function wordByWord(left: readonly string[], right: readonly string[]): Pieces {
  const compared = left.length === right.length && left.length <= WORDS_LINES;
  const pairs: [readonly Piece[], readonly Piece[]][] = [];
  return (kind, at) => {
    if (!compared) return plain((kind === "gone" ? left : right)[at]);
    const [before = "", after = ""] = [left[at], right[at]];
    const pair = (pairs[at] ??= words(before, after) ?? [plain(before), plain(after)]);
    return pair[kind === "gone" ? 0 : 1];
  };
}

/** The words that differ in a changed line; null if the line was rather replaced. */
export function words(before: string, after: string): [Piece[], Piece[]] | null {
  if (Math.max(before.length, after.length) > WORDS_CHARS) return null;
  const [old, now] = [wordsOf(before), wordsOf(after)];
  const pieces: [Piece[], Piece[]] = [[], []];
  let alike = 0;
  for (const { kind, old: inOld, now: inNow } of compare(old, now)) {
    const [gone, came] = [old.slice(...inOld).join(""), now.slice(...inNow).join("")];
    if (kind === "same") alike += gone.trim().length;
    if (gone) pieces[0].push({ text: gone, marked: kind !== "same" });
    if (came) pieces[1].push({ text: came, marked: kind !== "same" });
  }
  const most = Math.max(before.trim().length, after.trim().length, 1);
  return alike / most < ALIKE ? null : pieces;
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

// ---- side by side

/** Old and new side by side; one of them may be missing. */
export type Pair = readonly [Line | null, Line | null] | Gap | Note;

export function pairsOf(rows: readonly Row[]): Pair[] {
  const pairs: Pair[] = [];
  for (let at = 0; at < rows.length;) {
    const row = rows[at] as Row;
    if (row.kind === "gap" || row.kind === "note") pairs.push(row);
    if (row.kind === "same") pairs.push([row, row]);
    if (row.kind !== "gone" && row.kind !== "new") {
      at++;
      continue;
    }
    const gone = takeWhile(rows, at, "gone");
    const came = takeWhile(rows, at + gone.length, "new");
    for (let index = 0; index < Math.max(gone.length, came.length); index++)
      pairs.push([gone[index] ?? null, came[index] ?? null]);
    at += gone.length + came.length;
  }
  return pairs;
}

function takeWhile(rows: readonly Row[], from: number, kind: Line["kind"]): Line[] {
  const taken: Line[] = [];
  for (let at = from; rows[at]?.kind === kind; at++) taken.push(rows[at] as Line);
  return taken;
}
