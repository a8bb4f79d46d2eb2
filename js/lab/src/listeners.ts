// Functions that are called when something changes.

export class Listeners {
  readonly #all = new Set<() => void>();

  /** Returns how to leave. */
  add(listener: () => void): () => void {
    this.#all.add(listener);
    return () => void this.#all.delete(listener);
  }

  tell(): void {
    for (const listener of [...this.#all]) listener();
  }
}

/** Resolves when it is true; rejects after a while. `changes`: call back whenever it may have become true. */
export function until(
  isTrue: () => boolean,
  changes: (listener: () => void) => () => void,
  limitMs: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (isTrue()) return resolve();
    const leave = changes(() => {
      if (!isTrue()) return;
      clearTimeout(timer);
      leave();
      resolve();
    });
    const timer = setTimeout(() => {
      leave();
      reject(new Error("it took too long"));
    }, limitMs);
  });
}
