// Growing markdown: finished blocks keep their nodes.

import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Blocks } from "../text/blocks";
import { isPlainMath } from "../text/math";
import type { Block } from "../text/parser";
import { piecesOf } from "../text/pieces";
import { sanitise } from "../text/sanitise";
import { tree } from "../text/tree";
import type { Makers } from "../text/tree";
import { CodeView, GrowingText } from "./code";
import { HostContext } from "./host";
import { memo } from "./memo";

/** After a pause this long the text counts as complete, until more comes. */
const QUIET_MS = 1000;

interface Props {
  text: string;
  /** Whether the text is complete; if that is not known, a pause decides. */
  done?: boolean | undefined;
}

export const Markdown = memo(function Markdown({ text, done }: Props) {
  const [, redraw] = useState(0);
  const kept = useRef<{ blocks: Blocks; text: string; done: boolean } | null>(null);
  const before = kept.current;
  const blocks = before?.blocks ?? new Blocks();
  blocks.update(text, performance.now());
  // An agent may add to a message that counts as complete: then a pause completes it again.
  const late = before !== null && before.done && before.text !== text;
  // The first text may be all there is: draw it in its final form.
  if (done === undefined ? before === null : done && !late) blocks.settle();
  kept.current = { blocks, text, done: done === true };
  useEffect(() => {
    if (blocks.settled || done === false) return;
    const timer = setTimeout(() => {
      blocks.settle();
      redraw((count) => count + 1);
    }, QUIET_MS);
    return () => clearTimeout(timer);
  }, [blocks, text, done]);
  return (
    <div class="acp-markdown">
      {blocks.groups.map((group, at) => (
        <Group key={at} blocks={group} />
      ))}
    </div>
  );
});

const Group = memo(function Group({ blocks }: { blocks: readonly Block[] }) {
  return (
    <div class="acp-blocks">
      {blocks.map((block) => (
        <BlockView key={block.key} block={block} />
      ))}
    </div>
  );
});

const BlockView = memo(function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case "html":
      return <>{tree(sanitise(block.html), MAKERS)}</>;
    case "code":
      return <CodeView pieces={block.pieces} language={block.language} closed={block.closed} />;
    case "plain":
      return (
        <div class="acp-text">
          <GrowingText pieces={block.pieces} />
        </div>
      );
  }
});

const MAKERS: Makers = {
  code: (source, language) => <NestedCode source={source} language={language} />,
  math: (source, display) => <Formula source={source} display={display} />,
};

const NestedCode = memo(function NestedCode(props: { source: string; language: string }) {
  return <CodeView pieces={piecesOf(props.source)} language={props.language} closed={true} />;
});

const Formula = memo(function Formula(props: { source: string; display: boolean }) {
  const { source, display } = props;
  const { typeset } = useContext(HostContext);
  const place = useRef<HTMLSpanElement>(null);
  // Not children of the view: a typesetter puts its own nodes in the place of the text.
  useLayoutEffect(() => {
    if (!place.current) return;
    place.current.textContent = source;
    if (!typeset || !isPlainMath(source)) return;
    try {
      typeset(place.current);
    } catch (error) {
      console.warn("acp_notebook: a formula was not typeset", error);
    }
  }, [source, typeset]);
  return <span ref={place} class={display ? "acp-math acp-math-block" : "acp-math"} />;
});
