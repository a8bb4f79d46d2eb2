// Foreign text with nothing hidden in it. Knows no markup; the same sets as core/export/words.py.

const CONTROLS = String.raw`\x00-\x08\x0b-\x1f\x7f-\x9f`;
const HIDDEN = String.raw`\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}`;

const CONTROL = new RegExp(`[${CONTROLS}]`, "gu");
/** Control, invisible and direction-changing characters: they make a command look like another one. */
const DECEIVING = new RegExp(`[${CONTROLS}${HIDDEN}]`, "gu");

function codePoint(character: string): string {
  const number = character.codePointAt(0) ?? 0;
  return `‹U+${number.toString(16).toUpperCase().padStart(4, "0")}›`;
}

/** A command, a path, code: every character that is there can be seen. */
export function visible(text: string): string {
  return text.replace(DECEIVING, codePoint);
}

/** Prose: direction marks and joiners belong to many languages and stay; control characters are seen. */
export function prose(text: string): string {
  return text.replace(CONTROL, codePoint);
}
