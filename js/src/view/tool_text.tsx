// The text that a tool call gives back: as markdown where it is written as such, else character by character.

import { useContext, useMemo } from "preact/hooks";
import { HostContext } from "./host";
import { Markdown } from "./markdown";
import { memo } from "./memo";
import { code } from "./display_text";

/** A longer text is data. */
const MOST_CHARS = 20_000;

/** Kinds whose text is what a file or a program contains: its stars and number signs are no markdown. */
const LITERAL: ReadonlySet<string> = new Set([
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
]);

export const ToolText = memo(function ToolText({ text, kind }: { text: string; kind: string }) {
  const host = useContext(HostContext);
  // An output is not code for a cell.
  const plain = useMemo(() => ({ typeset: host.typeset }), [host]) as typeof host;
  if (!isMarkdown(text, kind)) return <pre class="acp-code">{code(text)}</pre>;
  return (
    <HostContext.Provider value={plain}>
      <div class="acp-tool-text">
        <Markdown text={text} />
      </div>
    </HostContext.Provider>
  );
});

const FENCE = /^ {0,3}(`{3,}|~{3,})[^`\n]*$/m;
const SIGNS =
  /^ {0,3}(?:#{1,6} \S|[-*+] \S|\d{1,3}[.)] \S|\|.*\|\s*$|> \S)|\*\*\S.*\*\*|`[^`\n]+`/m;

/** Agents put outputs into fences; their own words have lists, headings and tables. */
export function isMarkdown(text: string, kind: string): boolean {
  if (text.length > MOST_CHARS) return false;
  return FENCE.test(text) || (!LITERAL.has(kind) && SIGNS.test(text));
}
