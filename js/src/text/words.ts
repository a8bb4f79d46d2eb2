// The words of a grammar, which may be on several lines: the highlighter itself splits at single spaces only.

export function words(text: string): string[] {
  return text.split(/\s+/);
}
