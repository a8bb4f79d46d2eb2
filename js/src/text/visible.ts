// Makes hidden characters of foreign text visible. Knows no markup; the same sets as in core/escaping.py.

const CONTROLS = String.raw`\x00-\x08\x0b-\x1f\x7f-\x9f`;
const HIDDEN = String.raw`\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}`;
/** Characters that look like a space or like nothing, although Unicode does not count them as blanks. */
const LOOK_ALIKES = String.raw`\u180b-\u180f\u2800\ufe00-\ufe0e\uffa0\u{16fe4}\u{1d159}`;
/** More marks than this on one letter are drawn over the lines around it. */
const MARKS = String.raw`\p{M}{5,}`;

const CONTROL = new RegExp(`[${CONTROLS}]`, "gu");
/** Control, invisible and direction-changing characters, which can make a command look like another one. */
const DECEIVING = new RegExp(`[${CONTROLS}${HIDDEN}]`, "gu");
const STACKED = new RegExp(MARKS, "gu");

function codePoint(character: string): string {
  const number = character.codePointAt(0) ?? 0;
  return `‹U+${number.toString(16).toUpperCase().padStart(4, "0")}›`;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `‹${count.toLocaleString("en")} ${count === 1 ? one : many}›`;
}

function stacked(marks: string): string {
  return counted([...marks].length, "combining mark");
}

/** For titles and tool output: every character is visible. */
export function visible(text: string): string {
  return text.replace(DECEIVING, codePoint).replace(STACKED, stacked);
}

/** For prose: control characters are visible; direction marks and joiners stay, because many languages use them. */
export function prose(text: string): string {
  return text.replace(CONTROL, codePoint);
}

// ---- for what an allow covers: blanks and empty lines are visible, too

/** A part of a text; `marker`: it names invisible characters. */
export interface Part {
  readonly text: string;
  readonly marker: boolean;
}

/** Longer runs of blanks within a line could push the rest out of sight. */
const BLANKS = 8;
/** … and so could a deeper indentation; a tab counts as four. */
const INDENT = 40;
/** … and longer runs of empty lines. */
const EMPTY_LINES = 3;

/** Blanks; control, format, blank and unassigned characters of Unicode; stacked combining marks. */
const UNSEEN = new RegExp(
  `[ \\t]+|([\\p{C}\\p{Z}${HIDDEN}${LOOK_ALIKES}])\\1*|(?<!\\p{ExtPict})\\ufe0f+|${MARKS}`,
  "gu",
);

/** The lines of a text, as drawn. */
export function exactLines(text: string): Part[][] {
  const lines = text.split("\n");
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  const drawn: Part[][] = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (end < lines.length && isBlank(lines[end] ?? "")) end++;
    if (end - at > EMPTY_LINES) drawn.push([emptyLines(end - at)]);
    else for (const line of lines.slice(at, end)) drawn.push(exact(line));
    if (end < lines.length) drawn.push(exact(lines[end] ?? ""));
    at = end + 1;
  }
  return drawn;
}

export function isBlank(line: string): boolean {
  return /^[ \t\r]*$/.test(line);
}

/** Whether this many blank lines are drawn as one. */
export function isLongGap(count: number): boolean {
  return count > EMPTY_LINES;
}

export function emptyLines(count: number): Part {
  return { text: counted(count, "empty line"), marker: true };
}

/** A name, a path or a value as one line. */
export function exactInline(text: string): Part[] {
  return text
    .split("\n")
    .flatMap((line, at) => [...(at > 0 ? [{ text: "⏎", marker: true }] : []), ...exact(line)]);
}

/** One line, or a part of it; `start` and `end`: whether the part starts and ends the line. */
export function exact(text: string, start = true, end = true): Part[] {
  return placed(text, start, end).map(({ text, marker }) => ({ text, marker }));
}

/** The same, each part with its place in the text. */
export function placed(text: string, start = true, end = true): (Part & { at: number })[] {
  const parts: (Part & { at: number })[] = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    const [run] = found;
    const to = found.index + run.length;
    const leads = start && found.index === 0;
    const ends = end && /^\r?$/.test(text.slice(to, to + 2));
    const marker = /^[ \t]/.test(run)
      ? blanks(run, leads, ends)
      : unseen(run, end && to === text.length);
    if (marker === null) continue;
    if (found.index > from)
      parts.push({ text: text.slice(from, found.index), marker: false, at: from });
    parts.push({ text: marker, marker: true, at: found.index });
    from = to;
  }
  if (from < text.length) parts.push({ text: text.slice(from), marker: false, at: from });
  return parts;
}

/** null if they are visible as they are. */
function blanks(run: string, leads: boolean, ends: boolean): string | null {
  const tabs = run.split("\t").length - 1;
  if (leads && !ends && run.length + 3 * tabs <= INDENT) return null;
  if (tabs === 0 && !ends && run.length <= BLANKS) return null;
  if (run.length <= BLANKS) return [...run].map((it) => (it === "\t" ? "⇥" : "·")).join("");
  if (tabs === 0) return counted(run.length, "space");
  return counted(run.length, tabs === run.length ? "tab" : "blank");
}

function unseen(run: string, ends: boolean): string | null {
  if (run === "\r" && ends) return "␍";
  const characters = [...run];
  const [first = ""] = characters;
  if (/^\p{M}/u.test(first) && !isSelector(first)) return stacked(run);
  const one = codePoint(first);
  if (characters.length < 4) return one.repeat(characters.length);
  return `${one.slice(0, -1)} × ${characters.length.toLocaleString("en")}›`;
}

/** Variation selectors and fillers: marks that draw nothing. */
function isSelector(character: string): boolean {
  return /[\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\u{16fe4}\u{e0000}-\u{e0fff}]/u.test(
    character,
  );
}
