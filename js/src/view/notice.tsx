// Notices from the agent or the client, and summaries of compacted context.

import type { CompactionItem, NoticeItem } from "../types";
import { ContentList } from "./content";
import { line, spoken } from "./display_text";

export function NoticeView({ item }: { item: NoticeItem }) {
  return (
    <div class="acp-notice" data-severity={item.severity}>
      <strong>{line(item.title)}</strong>
      {item.description && <div class="acp-text">{item.description}</div>}
    </div>
  );
}

export function CompactionView({ item }: { item: CompactionItem }) {
  return (
    <div class="acp-notice" data-severity={item.error ? "error" : "info"}>
      <span class="acp-quiet">Context summary · {spoken(item.status)}</span>
      <ContentList blocks={item.summary} />
      {item.error && <div>{line(item.error)}</div>}
    </div>
  );
}
