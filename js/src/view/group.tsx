// A run of small reads and searches: one line, which opens to the calls themselves.

import type { ToolItem } from "../types";
import { groupTitle } from "./entries";
import { Fold } from "./fold";
import { Icon } from "./icons";
import { ItemView } from "./item";
import { ToolStatus } from "./tool_status";

interface Props {
  name: string;
  tools: readonly ToolItem[];
  folds: ReadonlyMap<string, boolean>;
}

export function GroupView({ name, tools, folds }: Props) {
  const going = tools.find(({ status }) => status === "in_progress" || status === "pending");
  const heading = (
    <>
      <span class="acp-kind">
        <Icon name={tools[0]?.kind ?? ""} />
      </span>
      <span class="acp-title">{groupTitle(tools)}</span>
      <ToolStatus status={going ? "in_progress" : (tools.at(-1)?.status ?? "completed")} />
    </>
  );
  return (
    <div class="acp-tool acp-toolgroup" data-acp-group={tools.length}>
      <Fold name={name} open={folds.get(name) ?? false} class="acp-fold" summary={heading}>
        <div class="acp-toolgroup-body">
          {tools.map((tool) => (
            <ItemView
              key={tool.key}
              item={tool}
              open={folds.get(tool.key)}
              raw={folds.get(`${tool.key}:raw`)}
            />
          ))}
        </div>
      </Fold>
    </div>
  );
}
