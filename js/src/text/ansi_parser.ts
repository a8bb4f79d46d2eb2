// Parses decoded terminal output into text, controls and sequences (ECMA-48). Keeps its state between chunks,
// wherever they are split. Knows no screen. A string sequence (a title, a link) that never ends must not hide what
// follows it: then it was text.

export interface Sink {
  text(text: string): void;
  /** "\n", "\r", "\b". */
  control(sign: string): void;
  /** A control sequence: its final letter and its parameters. */
  sequence(final: string, parameters: string): void;
}

/** No sequence that we support is longer. */
const MAX_PARAMETERS = 256;
const MAX_STRING = 4096;

const TEXT = /[^\x00-\x08\x0a-\x1f\x7f-\x9f]+/y;

type Mode = "text" | "escape" | "between" | "sequence" | "string";

export class AnsiParser {
  #mode: Mode = "text";
  #kept = "";

  constructor(private readonly sink: Sink) {}

  write(chunk: string): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#mode === "text") {
        TEXT.lastIndex = at;
        const found = TEXT.exec(chunk);
        if (found) {
          this.sink.text(found[0]);
          at += found[0].length;
          continue;
        }
      }
      this.#take(chunk.charAt(at));
      at++;
    }
  }

  #take(sign: string): void {
    switch (this.#mode) {
      case "text":
        if (sign === "\x1b") this.#mode = "escape";
        else if ("\n\r\b".includes(sign)) this.sink.control(sign);
        return;
      case "escape":
        return this.#escape(sign);
      case "between": // a character set's name and the like: intermediates, then a final
        if (sign >= " " && sign <= "/") return;
        this.#mode = "text";
        if (sign < " " || sign > "~") this.#take(sign);
        return;
      case "sequence":
        return this.#sequence(sign);
      case "string":
        return this.#string(sign);
    }
  }

  #escape(sign: string): void {
    this.#kept = "";
    if (sign === "[") this.#mode = "sequence";
    else if ("]PX^_".includes(sign)) this.#mode = "string";
    else if (sign >= " " && sign <= "/") this.#mode = "between";
    else {
      this.#mode = "text";
      if (sign < " " || sign > "~") this.#take(sign);
    }
  }

  #sequence(sign: string): void {
    if (sign >= "@" && sign <= "~") {
      this.#mode = "text";
      this.sink.sequence(sign, this.#kept);
    } else if (sign >= " " && sign <= "?" && this.#kept.length < MAX_PARAMETERS) this.#kept += sign;
    else {
      this.#mode = "text";
      this.#take(sign);
    }
  }

  #string(sign: string): void {
    if (sign === "\x07" || sign === "\x9c") this.#mode = "text";
    else if (sign === "\x1b")
      this.#mode = "escape"; // its end, or another sequence: both end it
    else if (sign === "\n" || this.#kept.length >= MAX_STRING) {
      this.#mode = "text";
      const text = this.#kept;
      this.#kept = "";
      this.write(text);
      this.write(sign);
    } else this.#kept += sign;
  }
}
