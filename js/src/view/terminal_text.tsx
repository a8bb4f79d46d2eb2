// Growing output of a command, as a terminal would show it.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { inFrame } from "../frame_schedule";
import { TerminalOutput, plainText } from "../text/ansi";
import type { Line, Page } from "../text/ansi";
import { PLAIN, lookOf } from "../text/ansi_style";
import { CopyButton } from "./code";
import { SLACK_PX } from "./follow";
import { memo } from "./memo";

/** Read and drawn in one frame: several hundred plain lines, or fewer with colours. */
const FRAME_COST = 16_000;

export const TerminalText = memo(function TerminalText({ text }: { text: string }) {
  const kept = useRef<TerminalOutput | null>(null);
  const output = (kept.current ??= new TerminalOutput());
  const [, more] = useState(0);
  output.update(text, FRAME_COST);
  useEffect(() => {
    if (!output.behind) return;
    return inFrame(() => more((count) => count + 1));
  });
  const { pages, gone } = output;
  const { box, scrolled } = useEnd();
  return (
    <div class="acp-output">
      <CopyButton text={() => plainText(output.pages)} what="output" />
      {gone > 0 && <div class="acp-quiet">… {gone.toLocaleString("en")} earlier lines</div>}
      <pre ref={box} onScroll={scrolled} class="acp-code acp-ansi" tabIndex={0} aria-label="Output">
        {pages.map((page, at) => (
          <PageView key={page.key} page={page} last={at === pages.length - 1} />
        ))}
      </pre>
    </div>
  );
});

/** Keeps the end in sight, where new lines appear and an error says what it is, until the reader scrolls away. */
function useEnd() {
  const box = useRef<HTMLPreElement>(null);
  const left = useRef(false);
  useLayoutEffect(() => {
    if (box.current && !left.current) box.current.scrollTop = box.current.scrollHeight;
  });
  const scrolled = ({ currentTarget: el }: { currentTarget: HTMLPreElement }) => {
    left.current = el.scrollHeight - el.clientHeight - el.scrollTop > SLACK_PX;
  };
  return { box, scrolled };
}

const PageView = memo(function PageView({ page, last }: { page: Page; last: boolean }) {
  return (
    <span class="acp-piece">
      {page.lines.map((line, at) => (
        <LineView key={at} line={line} last={last && at === page.lines.length - 1} />
      ))}
    </span>
  );
});

const LineView = memo(function LineView({ line, last }: { line: Line; last: boolean }) {
  return (
    <>
      {line.map(({ text, style }, at) => {
        if (style === PLAIN) return text;
        const { names, values } = lookOf(style);
        return (
          <span key={at} class={names.join(" ")} style={values}>
            {text}
          </span>
        );
      })}
      {!last && "\n"}
    </>
  );
});
