// Text with inline code and emphasis, as titles and prompts have it. Nothing else of markdown: a title must not be
// able to become a link, a picture or anything that looks like one of our controls.

import type { ComponentChild } from "preact";
import { memo } from "./memo";

/** A longer line is not written by hand. */
const LINE_CHARS = 2000;

/** `code`, **strong**, *emphasis*. Stars within words and file names (*.py) are stars. */
const SPAN =
  /(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)|(?<![^\s(])(\*\*?)(?=[^\s*])([^*]*[^\s*])\3(?![^\s).,:;!?])/g;

export const Inline = memo(function Inline({ text }: { text: string }) {
  if (!/[`*]/.test(text)) return <>{text}</>;
  return <>{text.split("\n").flatMap((it, at) => (at > 0 ? ["\n", ...parts(it)] : parts(it)))}</>;
});

function parts(text: string): ComponentChild[] {
  if (text.length > LINE_CHARS) return [text];
  const made: ComponentChild[] = [];
  let from = 0;
  for (const found of text.matchAll(SPAN)) {
    made.push(text.slice(from, found.index));
    from = found.index + found[0].length;
    const [, , code, stars, stressed] = found;
    if (code !== undefined) made.push(<code>{code.replace(/^ (.*\S.*) $/, "$1")}</code>);
    else made.push(stars === "**" ? <strong>{stressed}</strong> : <em>{stressed}</em>);
  }
  made.push(text.slice(from));
  return made;
}

/** The text without the signs, for names of controls and other places that show no markup. */
export function unmarked(text: string): string {
  if (text.length > LINE_CHARS) return text;
  return text.replace(SPAN, (_, __, code?: string, ___?: string, stressed?: string) =>
    code === undefined ? (stressed ?? "") : code.replace(/^ (.*\S.*) $/, "$1"),
  );
}
