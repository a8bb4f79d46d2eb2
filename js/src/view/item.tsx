// One item, by its type. Renders again only when the item itself, or what the page knows of it, changed.

import type { Sent } from "../store";
import type { Emit, Item, Json, ToolItem } from "../types";
import { memo } from "./memo";
import { MessageView } from "./message";
import { CompactionView, NoticeView } from "./notice";
import { PermissionView } from "./permission";
import { PlanView } from "./plan";
import { TerminalView } from "./terminal";
import { ToolView } from "./tool";
import { UnknownView } from "./unknown";

interface Props {
  item: Item;
  /** The tool call that a question is about. */
  tool: ToolItem | undefined;
  open: boolean | undefined;
  sent: Sent | undefined;
  live: boolean;
  emit: Emit;
}

export const ItemView = memo(function ItemView({ item, tool, open, sent, live, emit }: Props) {
  switch (item.type) {
    case "message":
      return <MessageView item={item} open={open} emit={emit} />;
    case "tool":
      return <ToolView item={item} open={open} emit={emit} />;
    case "plan":
      return <PlanView item={item} />;
    case "question":
      return <PermissionView item={item} tool={tool} sent={sent} live={live} emit={emit} />;
    case "terminal":
      return <TerminalView item={item} />;
    case "notice":
      return <NoticeView item={item} />;
    case "compaction":
      return <CompactionView item={item} />;
    case "unknown":
      return <UnknownView what={item.what} value={item.content} />;
    case "turn":
      return null; // drawn by TurnView, around the others
    default:
      // A newer kernel may send more types than this module knows.
      return <UnknownView what="unknown item" value={item satisfies never as Json} />;
  }
});
