// Whether a key belongs to an input method, which is still composing a word.

/** Safari says so by the key code alone in the event that ends the word. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}
