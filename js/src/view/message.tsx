// Messages of the agent, its thoughts (foldable), and what the user said during a turn.

import { Fragment, type ComponentChildren } from "preact";
import type { Content, MessageItem } from "../types";
import { ContentList } from "./content";
import { CopyMessage } from "./copy_message";
import { Fold } from "./fold";

interface Props {
  item: MessageItem;
  /** More may still be added to it. */
  growing: boolean;
  open?: boolean | undefined;
}

export function MessageView({ item, growing, open }: Props) {
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
        <Fold name={item.key} open={open ?? true} class="acp-thought" summary="Thought">
          {content}
        </Fold>
      );
    case "user":
      return (
        <div class="acp-prompt">
          {content}
          <CopyMessage blocks={forUser(item.content)} what="prompt" />
        </div>
      );
    default:
      return (
        <div class="acp-message">
          {content}
          <CopyMessage blocks={forUser(item.content)} what="message" />
        </div>
      );
  }
}

/** The content in runs for the user, and for the model only. */
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

function forUser(content: readonly Content[]): Content[] {
  return content.filter((block) => !forModelOnly(block));
}

function forModelOnly(block: Content): boolean {
  const audience = "annotations" in block ? block.annotations?.audience : undefined;
  return Array.isArray(audience) && audience.length === 1 && audience[0] === "assistant";
}

/** Not part of the answer: folded, but not lost. */
function ForTheModel({ children }: { children: ComponentChildren }) {
  return (
    <details class="acp-thought">
      <summary>For the model only</summary>
      {children}
    </details>
  );
}
