// One item of the transcript, by its type. Redrawn only when the item, or what the page knows of it, changed.

import type { Sent } from "../store";
import type { Item, Json, QuestionItem } from "../types";
import { ElicitationView } from "./elicitation";
import { memo } from "./memo";
import { MessageView } from "./message";
import { CompactionView, NoticeView } from "./notice";
import type { OwnChange } from "./own_changes";
import { PermissionView } from "./permission";
import { PlanView } from "./plan";
import { TerminalView } from "./terminal";
import { ToolView } from "./tool";
import { UnknownView } from "./unknown";

interface Props {
  item: Item;
  /** The question that a tool call waits for, or waited for. */
  question?: QuestionItem | undefined;
  open?: boolean | undefined;
  raw?: boolean | undefined;
  /** What a tool call changed, once the turn is over. */
  own?: OwnChange | undefined;
  sent?: Sent | undefined;
  /** More may still be added to it. */
  growing?: boolean | undefined;
}

export const ItemView = memo(function ItemView(props: Props) {
  const view = viewOf(props);
  return view && <div data-acp-item={props.item.key}>{view}</div>;
});

function viewOf(props: Props) {
  const { item, open, sent, growing = false } = props;
  switch (item.type) {
    case "message":
      return <MessageView item={item} growing={growing} open={open} />;
    case "tool": {
      const { question, raw, own } = props;
      return <ToolView {...{ item, question, sent, open, raw, own }} />;
    }
    case "plan":
      return <PlanView item={item} />;
    case "question":
      return <PermissionView item={item} sent={sent} />;
    case "elicitation":
      return <ElicitationView item={item} sent={sent} />;
    case "terminal":
      return <TerminalView item={item} />;
    case "notice":
      return <NoticeView item={item} />;
    case "compaction":
      return <CompactionView item={item} />;
    case "changes":
      return null; // drawn by TurnView, at the turn's end
    case "unknown":
      return <UnknownView what={item.what} value={item.content} />;
    case "turn":
      return null; // drawn by TurnView, around the others
    default:
      // A newer kernel may send more types than this module knows.
      return <UnknownView what="unknown item" value={item satisfies never as Json} />;
  }
}
