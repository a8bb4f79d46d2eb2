// Splits a growing text into pieces, of which only the last changes. A page that shows each piece in its own box
// lays out only the last one again. Knows no markup.

/** About a screen of text: small enough to lay out in every frame. */
const PIECE = 2048;
/** A text without line ends is cut here. */
const LONG_PIECE = 4 * PIECE;

/** Browsers take quadratic time to wrap a word (a minute for 100 kB), so wrapped text is cut within words. */
export const LONG_WORD = /\S{1000}/;

export class Pieces {
  #done: readonly string[] = [];
  #last = "";

  /** `wraps`: the lines of the text are wrapped, unlike those of code. */
  constructor(private readonly wraps = false) {}

  append(text: string): void {
    for (let from = 0; from < text.length; from += LONG_PIECE) {
      this.#last += text.slice(from, from + LONG_PIECE);
      for (let word = this.#word(); word > 0; word = this.#word()) this.#cut(word);
      while (this.#last.length > PIECE) {
        const at = cut(this.#last);
        if (at === 0) break;
        this.#cut(at);
      }
    }
  }

  #cut(at: number): void {
    this.#done = [...this.#done, this.#last.slice(0, at)];
    this.#last = this.#last.slice(at);
  }

  #word(): number {
    const found = this.wraps ? LONG_WORD.exec(this.#last) : null;
    return found ? found.index + found[0].length : 0;
  }

  get all(): readonly string[] {
    return this.#last === "" ? this.#done : [...this.#done, this.#last];
  }
}

export function piecesOf(text: string, wraps = false): readonly string[] {
  const pieces = new Pieces(wraps);
  pieces.append(text);
  return pieces.all;
}

/** Where the first piece ends: after a line, else after a word, else anywhere; 0: not yet. */
function cut(text: string): number {
  const line = text.lastIndexOf("\n", LONG_PIECE - 1) + 1;
  if (line > 0) return text.lastIndexOf("\n", PIECE - 1) + 1 || text.indexOf("\n") + 1;
  if (text.length < LONG_PIECE) return 0;
  const word = text.lastIndexOf(" ", LONG_PIECE - 1) + 1;
  if (word > 0) return word;
  const splits = /[\ud800-\udbff]/.test(text.charAt(LONG_PIECE - 1));
  return splits ? LONG_PIECE - 1 : LONG_PIECE;
}
