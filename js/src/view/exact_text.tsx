// Text of an open question, character by character: nothing is cut, and invisible characters are named.

import { useEffect, useMemo, useState } from "preact/hooks";
import { inFrame } from "../frame_schedule";
import { exactInline, exactLines } from "../text/visible";
import type { Part } from "../text/visible";
import { memo } from "./memo";

/** Lines drawn at once. */
const FIRST_LINES = 60;
/** The others are drawn in blocks, which the browser skips while they are out of sight. */
export const BLOCK_LINES = 100;
/** … this many per frame, so that no frame takes long. */
const FRAME_LINES = 100;

export function Parts({ parts }: { parts: readonly Part[] }) {
  return (
    <>
      {parts.map(({ text, marker }, at) =>
        marker ? (
          <span key={at} class="acp-marker">
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </>
  );
}

/** A path, a name, a value. */
export const ExactInline = memo(function ExactInline({ text }: { text: string }) {
  const parts = useMemo(() => exactInline(text), [text]);
  return <Parts parts={parts} />;
});

/** Lines of any number and length. Each is a box, so that a line that wraps does not look like two. */
export const ExactLines = memo(function ExactLines({ text }: { text: string }) {
  const lines = useMemo(() => exactLines(text), [text]);
  const drawn = useDrawn(lines.length, true, FIRST_LINES);
  return (
    <>
      {Array.from({ length: Math.ceil(drawn / BLOCK_LINES) }, (_, at) => (
        <Block
          key={at}
          lines={lines}
          from={at * BLOCK_LINES}
          to={Math.min(drawn, (at + 1) * BLOCK_LINES)}
        />
      ))}
    </>
  );
});

const Block = memo(function Block(props: { lines: readonly Part[][]; from: number; to: number }) {
  return (
    <span class="acp-exact-lines">
      {props.lines.slice(props.from, props.to).map((parts, at) => (
        <span key={at} class="acp-exact-line">
          <Parts parts={parts} />
          {"\n"}
        </span>
      ))}
    </span>
  );
});

/** How many lines are drawn: the first ones or, a part in each frame, all. */
export function useDrawn(count: number, all: boolean, first: number): number {
  const [drawn, setDrawn] = useState(first);
  useEffect(() => {
    if (!all || drawn >= count) return;
    return inFrame(() => setDrawn(drawn + FRAME_LINES));
  }, [all, drawn, count]);
  return Math.min(drawn, count);
}
