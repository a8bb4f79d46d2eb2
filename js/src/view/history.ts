// Earlier prompts, with Up and Down; the draft comes back at the end. Pure.

export class History {
  #at: number | null = null;
  #draft = "";

  /** The text to show instead; null if there is none in that direction. */
  move(step: -1 | 1, prompts: readonly string[], present: string): string | null {
    if (this.#at === null) {
      if (step === 1 || prompts.length === 0) return null;
      this.#draft = present;
    }
    const at = (this.#at ?? prompts.length) + step;
    if (at < 0) return null;
    if (at >= prompts.length) {
      this.#at = null;
      return this.#draft;
    }
    this.#at = at;
    return prompts[at] ?? null;
  }

  /** Something was written or sent. */
  leave(): void {
    this.#at = null;
  }
}

/** Up moves the caret, unless it is in the first line already; Down, unless in the last. */
export function atEdge(step: -1 | 1, text: string, from: number, to: number): boolean {
  if (from !== to) return false;
  return step === -1 ? !text.slice(0, from).includes("\n") : !text.slice(to).includes("\n");
}
