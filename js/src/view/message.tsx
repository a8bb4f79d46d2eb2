// What the agent says, what it thinks (quiet, folded when asked), and what the user said in between.

import type { Emit, MessageItem } from "../types";
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
  const content = (
    <ContentList blocks={item.content} markdown={item.role !== "user"} done={!growing} />
  );
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
