// Interprets growing terminal output as lines with styled runs. Supports what progress bars need: carriage
// returns, backspaces, erasing, and cursor moves within the last lines; drops all other sequences. Lines are
// grouped into pages: all but the last keep their identity, and the oldest are dropped.

import { AnsiParser } from "./ansi_parser";
import { PLAIN, isSameStyle, restyled } from "./ansi_style";
import type { Style } from "./ansi_style";
import { visible } from "./visible";

export interface Run {
  readonly text: string;
  readonly style: Style;
}

export type Line = readonly Run[];

/** A group of lines; `key` counts from the very first page. */
export interface Page {
  readonly key: number;
  readonly lines: readonly Line[];
}

export const PAGE = 25;
/** How many lines are kept, and how much they may cost to draw; older lines are only counted. */
export const MAX_LINES = 2000;
export const MAX_COST = 400_000;
/** A run is an element, which costs as much as this many characters. */
const RUN_COST = 40;
/** The least cost of a sequence in output that was not read yet (two of them make a run). Of a large output
    that arrives at once only the end is read, at least as much as is kept. */
const SEQUENCE_COST = RUN_COST / 2;
/** A longer line is broken, so that the page can draw it. */
export const MAX_COLUMNS = 2000;
/** How far up the cursor can move: more than a screen of progress bars. */
const REACH = 50;

/** A line that can still change. It has a cell per character, so that the cost of overwriting depends only on
    what is written, not on the number of colours. */
class Row {
  #characters: string[] = [];
  #styles: Style[] = [];
  #line: Line | null = null;

  write(column: number, characters: readonly string[], style: Style): void {
    this.#line = null;
    while (this.#characters.length < column) this.#set(this.#characters.length, " ", PLAIN);
    characters.forEach((character, at) => this.#set(column + at, character, style));
  }

  erase(from: number, to: number): void {
    this.#line = null;
    if (to >= this.#characters.length) {
      this.#characters.length = this.#styles.length = Math.min(from, this.#characters.length);
    } else for (let at = from; at < to; at++) this.#set(at, " ", PLAIN);
  }

  /** The same object until something changes. */
  get line(): Line {
    return (this.#line ??= this.#runs());
  }

  #set(at: number, character: string, style: Style): void {
    this.#characters[at] = character;
    this.#styles[at] = style;
  }

  #runs(): Line {
    const runs: Run[] = [];
    let from = 0;
    this.#styles.forEach((style, at) => {
      const next = this.#styles[at + 1];
      if (next && isSameStyle(style, next)) return;
      runs.push({ text: this.#characters.slice(from, at + 1).join(""), style });
      from = at + 1;
    });
    return runs;
  }
}

/** The output of a terminal, updated with the whole text each time. */
export class TerminalOutput {
  #text = "";
  #read = 0;
  #screen = new Screen();

  get pages(): readonly Page[] {
    return this.#screen.pages;
  }

  /** How many lines were dropped before the first page. */
  get gone(): number {
    return this.#screen.gone;
  }

  /** Whether there is more to read: call `update` again in the next frame. */
  get behind(): boolean {
    return this.#read < this.#text.length;
  }

  /** Update to the current output, reading at most this much: characters, and sequences by their cost. */
  update(text: string, most = Infinity): void {
    // Not startsWith: that compares ten times as slowly.
    if (text.slice(0, this.#text.length) !== this.#text) {
      this.#screen = new Screen();
      this.#read = 0;
    }
    this.#text = text;
    const from = freshStart(text, this.#read);
    if (from > this.#read) this.#screen = new Screen(newlines(text, from));
    this.#read = partEnd(text, from, most);
    this.#screen.write(text.slice(from, this.#read));
  }
}

/** Where the part of a text begins, from a place on, that is worth reading. */
function freshStart(text: string, from: number): number {
  let [cost, lines] = [0, 0];
  for (let at = text.length - 1; at >= from; at--) {
    const code = text.charCodeAt(at);
    cost += code === 0x1b ? SEQUENCE_COST : 1;
    if (code === 0x0a) lines++;
    if (cost > MAX_COST || lines > MAX_LINES + REACH) return text.indexOf("\n", at) + 1 || at;
  }
  return from;
}

/** Where a part that costs so much ends; never within a character. */
function partEnd(text: string, from: number, most: number): number {
  if (most >= (text.length - from) * SEQUENCE_COST) return text.length;
  let at = from;
  for (let cost = 0; at < text.length && cost < most; at++)
    cost += text.charCodeAt(at) === 0x1b ? SEQUENCE_COST : 1;
  return /[\ud800-\udbff]/.test(text.charAt(at - 1)) ? at + 1 : at;
}

function newlines(text: string, end: number): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < end; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

export class Screen {
  readonly #parser = new AnsiParser({
    text: (text) => this.#put(visible(text)),
    control: (sign) => this.#control(sign),
    sequence: (final, parameters) => this.#sequence(final, parameters),
  });
  /** Pages that are full and beyond the cursor's reach. */
  #done: readonly Page[] = [];
  #rows: Row[] = [new Row()];
  #nextPage = 0;
  #row = 0;
  #column = 0;
  #style: Style = PLAIN;
  #gone: number;
  #costs: number[] = [];
  #cost = 0;
  #open: readonly Page[] = [];

  /** `gone`: how many lines were left out before. */
  constructor(gone = 0) {
    this.#gone = gone;
  }

  get gone(): number {
    return this.#gone;
  }

  get pages(): readonly Page[] {
    const open: Page[] = [];
    for (let at = 0; at < this.#rows.length; at += PAGE) {
      const key = this.#nextPage + at / PAGE;
      const lines = this.#rows.slice(at, at + PAGE).map(({ line }) => line);
      const before = this.#open.find((page) => page.key === key);
      open.push(before && isSame(before.lines, lines) ? before : { key, lines });
    }
    this.#open = open;
    return [...this.#done, ...open];
  }

  write(chunk: string): void {
    this.#parser.write(chunk);
  }

  #put(text: string): void {
    const characters = Array.from(text);
    for (let from = 0; from < characters.length;) {
      if (this.#column >= MAX_COLUMNS) this.#newline();
      const part = characters.slice(from, from + MAX_COLUMNS - this.#column);
      this.#current().write(this.#column, part, this.#style);
      this.#column += part.length;
      from += part.length;
    }
  }

  #current(): Row {
    return (this.#rows[this.#row] ??= new Row());
  }

  #control(sign: string): void {
    if (sign === "\r") this.#column = 0;
    else if (sign === "\b") this.#column = Math.max(0, this.#column - 1);
    else this.#newline();
  }

  #newline(): void {
    this.#row++;
    this.#column = 0;
    this.#current();
    if (this.#rows.length >= PAGE + REACH + 1) this.#finishPage();
  }

  #finishPage(): void {
    const lines = this.#rows.splice(0, PAGE).map(({ line }) => line);
    this.#row -= PAGE;
    const key = this.#nextPage++;
    const before = this.#open.find((page) => page.key === key);
    const page = before && isSame(before.lines, lines) ? before : { key, lines };
    this.#done = [...this.#done, page];
    this.#costs.push(costOf(lines));
    this.#cost += this.#costs.at(-1) ?? 0;
    while (this.#done.length * PAGE > MAX_LINES || this.#cost > MAX_COST) {
      this.#cost -= this.#costs.shift() ?? 0;
      this.#done = this.#done.slice(1);
      this.#gone += PAGE;
    }
  }

  #sequence(final: string, parameters: string): void {
    if (final === "m") {
      if (/^[\d;:]*$/.test(parameters)) this.#style = restyled(this.#style, parameters);
      return;
    }
    if (!/^[\d;]*$/.test(parameters)) return; // private modes
    const [first = 0] = parameters.split(";").map(Number);
    const count = Math.min(Math.max(1, first), MAX_COLUMNS);
    switch (final) {
      case "K":
        return this.#eraseLine(first);
      case "A":
      case "F":
        this.#row = Math.max(0, this.#rows.length - 1 - REACH, this.#row - count);
        if (final === "F") this.#column = 0;
        return;
      case "B":
      case "E":
        this.#row = Math.min(this.#rows.length - 1, this.#row + count);
        if (final === "E") this.#column = 0;
        return;
      case "C":
        this.#column = Math.min(MAX_COLUMNS - 1, this.#column + count);
        return;
      case "D":
        this.#column = Math.max(0, this.#column - count);
        return;
      case "G":
        this.#column = count - 1;
        return;
    }
  }

  #eraseLine(what: number): void {
    const [from, to] = [what === 0 ? this.#column : 0, what === 1 ? this.#column + 1 : Infinity];
    if (what <= 2) this.#current().erase(from, to);
  }
}

function isSame(a: readonly Line[], b: readonly Line[]): boolean {
  return a.length === b.length && a.every((line, at) => line === b[at]);
}

function costOf(lines: readonly Line[]): number {
  return lines.flat().reduce((sum, { text }) => sum + text.length + RUN_COST, 0);
}

/** The lines as text, for the clipboard. */
export function plainText(pages: readonly Page[]): string {
  return pages
    .flatMap(({ lines }) => lines.map((line) => line.map(({ text }) => text).join("")))
    .join("\n")
    .replace(/\n+$/, "\n");
}
