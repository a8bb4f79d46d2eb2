// A turn: the prompt, what came of it, and a line that says how it stands, with the stop button.

import type { Link, Sent } from "../store";
import { isRunning, turnId } from "../turns";
import type { Turn } from "../turns";
import type { Emit, Item, ToolItem } from "../types";
import { ContentList } from "./content";
import { ItemView } from "./item";
import { memo } from "./memo";
import { StatusLine } from "./status";

interface Props {
  turn: Turn;
  link: Link;
  sent: ReadonlyMap<string, Sent>;
  folds: ReadonlyMap<string, boolean>;
  emit: Emit;
}

export const TurnView = memo(function TurnView({ turn, link, sent, folds, emit }: Props) {
  const { start, items } = turn;
  const id = start ? turnId(start) : "";
  return (
    <section
      class="acp-turn"
      data-acp-turn={id}
      data-acp-status={start?.status ?? "none"}
      aria-label={start ? `Turn ${start.number}` : "Before the first turn"}
    >
      {start && start.prompt.length > 0 && (
        <div class="acp-prompt">
          <ContentList blocks={start.prompt} />
        </div>
      )}
      <div
        class="acp-items"
        role="log"
        aria-live="off"
        aria-busy={start ? isRunning(start) : false}
      >
        {items.map((item) => (
          <ItemView
            key={item.key}
            item={item}
            tool={toolOf(item, items)}
            open={folds.get(item.key)}
            sent={sent.get(item.key)}
            live={link === "live"}
            emit={emit}
          />
        ))}
      </div>
      {start && (
        <StatusLine
          start={start}
          asking={items.some((item) => item.type === "question" && item.status === "open")}
          sent={sent.get(id)}
          link={link}
          emit={emit}
        />
      )}
    </section>
  );
});

function toolOf(item: Item, items: readonly Item[]): ToolItem | undefined {
  if (item.type !== "question") return undefined;
  const tool = items.find(({ key }) => key === item.tool);
  return tool?.type === "tool" ? tool : undefined;
}
