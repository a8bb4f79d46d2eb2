// Reads an open top-level code fence line by line: its contents so far, and where it closes. The cost of appending
// does not depend on the length. The parser parses the finished block, so a wrong guess here is only visible for
// a moment.

import { Pieces } from "./pieces";

const OPENING = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)$/;

export interface Opening {
  readonly indent: number;
  readonly sign: string;
  readonly info: string;
}

export function opening(line: string): Opening | null {
  const found = OPENING.exec(line);
  if (!found) return null;
  const [, indent = "", sign = "", info = ""] = found;
  return { indent: indent.length, sign, info: info.trim() };
}

const CLOSING = /^ {0,3}(`+|~+)[ \t]*$/;
const MAY_CLOSE = /^ {0,3}(?:`*|~*)[ \t]*$/;

/** Whether the line closes the fence. */
export function closes({ sign }: Opening, line: string): boolean {
  const marks = CLOSING.exec(line)?.[1] ?? "";
  return marks.charAt(0) === sign.charAt(0) && marks.length >= sign.length;
}

export class OpenFence {
  readonly pieces = new Pieces();
  readonly #indent: RegExp;
  /** The incomplete line, as long as it may become the closing one. */
  #line: string | null = "";

  constructor(private readonly opening: Opening) {
    this.#indent = new RegExp(`^ {0,${opening.indent}}`);
  }

  /** Append text; returns whether it closes the fence. */
  append(text: string): boolean {
    let shown = "";
    for (let from = 0; from < text.length;) {
      const end = text.indexOf("\n", from);
      const part = text.slice(from, end < 0 ? text.length : end);
      if (this.#line !== null) {
        this.#line += part;
        if (end >= 0 && closes(this.opening, this.#line)) {
          this.pieces.append(shown);
          return true;
        }
        if (end >= 0 || !MAY_CLOSE.test(this.#line)) {
          shown += this.#line.replace(this.#indent, "");
          this.#line = null;
        }
      } else shown += part;
      if (end < 0) break;
      shown += "\n";
      this.#line = "";
      from = end + 1;
    }
    this.pieces.append(shown);
    return false;
  }
}

/** The first word after the opening of a fence, if it can be a language. */
export function languageOf(info: string): string {
  return /^[\w+#.-]{1,32}(?=$|[\s,{:])/.exec(info.trim())?.[0].toLowerCase() ?? "";
}
