// What the agent says, what it thinks (quiet, folded when asked), and what the user said in between.

import type { Emit, MessageItem } from "../types";
import { ContentList } from "./content";
import { Fold } from "./fold";

export function MessageView(props: { item: MessageItem; open?: boolean | undefined; emit: Emit }) {
  const { item, open, emit } = props;
  const content = <ContentList blocks={item.content} markdown={item.role !== "user"} />;
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
