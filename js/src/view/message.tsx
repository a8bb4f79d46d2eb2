// What the agent says, what it thinks (quiet, folded when asked), and what the user said in between.

import { Fragment, type ComponentChildren } from "preact";
import type { Content, Emit, MessageItem } from "../types";
import { ContentList } from "./content";
import { Fold } from "./fold";

interface Props {
  item: MessageItem;
  /** More may still be added to it. */
  growing: boolean;
  open?: boolean | undefined;
  emit: Emit;
}

export function MessageView({ item, growing, open, emit }: Props) {
  const content = parts(item.content).map(({ hidden, blocks, last }, at) => {
    const list = (
      <ContentList blocks={blocks} markdown={item.role !== "user"} done={!last || !growing} />
    );
    return hidden ? (
      <ForTheModel key={at}>{list}</ForTheModel>
    ) : (
      <Fragment key={at}>{list}</Fragment>
    );
  });
  switch (item.role) {
    case "thought":
      return (
        <Fold name={item.key} open={open ?? true} emit={emit} class="acp-thought" summary="Thought">
          {content}
        </Fold>
      );
    case "user":
      return <div class="acp-prompt">{content}</div>;
    default:
      return <div class="acp-message">{content}</div>;
  }
}

/** The content in runs: what is for the user, and what is for the model only. */
function parts(content: readonly Content[]) {
  const runs: { hidden: boolean; blocks: Content[]; last: boolean }[] = [];
  content.forEach((block, at) => {
    const hidden = forModelOnly(block);
    const last = at === content.length - 1;
    const run = runs[runs.length - 1];
    if (run?.hidden === hidden) {
      run.blocks.push(block);
      run.last = last;
    } else runs.push({ hidden, blocks: [block], last });
  });
  return runs;
}

function forModelOnly(block: Content): boolean {
  const audience = "annotations" in block ? block.annotations?.audience : undefined;
  return Array.isArray(audience) && audience.length === 1 && audience[0] === "assistant";
}

/** Not an answer: kept out of the way, and not lost. */
function ForTheModel({ children }: { children: ComponentChildren }) {
  return (
    <details class="acp-thought">
      <summary>For the model only</summary>
      {children}
    </details>
  );
}
