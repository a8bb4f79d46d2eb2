// A change of a file: the lines that went and the lines that came, without what is equal around them.

import type { Content } from "../types";
import { Path } from "./path";
import { bounded, code } from "./words";

type Diff = Extract<Content, { type: "diff" }>;

/** Equal lines shown before and after the change. */
const CONTEXT = 3;

export function DiffView({ diff }: { diff: Diff }) {
  const created = diff.old_text === undefined;
  return (
    <figure class="acp-diff">
      <figcaption class="acp-path">
        <Path path={diff.path} /> {created && <span class="acp-quiet">new file</span>}
      </figcaption>
      <pre class="acp-code">
        {bounded(unified(diff.old_text ?? "", diff.new_text)).map((text, at) => (
          <span key={at} class={CLASSES[text[0] ?? ""] ?? ""}>
            {code(text) + "\n"}
          </span>
        ))}
      </pre>
    </figure>
  );
}

const CLASSES: Record<string, string> = { "-": "acp-removed", "+": "acp-added" };

export function unified(before: string, after: string): string[] {
  const old = lines(before);
  const now = lines(after);
  const least = Math.min(old.length, now.length);
  let head = 0;
  while (head < least && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < least - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const mark = (sign: string, part: readonly string[]) => part.map((text) => sign + text);
  return [
    ...mark(" ", old.slice(Math.max(0, head - CONTEXT), head)),
    ...mark("-", old.slice(head, old.length - tail)),
    ...mark("+", now.slice(head, now.length - tail)),
    ...mark(" ", old.slice(old.length - tail, old.length - tail + CONTEXT)),
  ];
}

function lines(text: string): string[] {
  if (text === "") return [];
  const all = text.split("\n");
  return all.at(-1) === "" ? all.slice(0, -1) : all;
}
