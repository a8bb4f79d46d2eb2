// The status bar: the agent, what it is doing, its cost, and whether it asks. A click leads to it.

import { element } from "./dom";
import type { HostWidget, WidgetsModule } from "./host";
import type { Sessions } from "./sessions";
import type { SidePanel } from "./side_panel";
import { summaryOf } from "./summary";

export function makeStatusItem(
  Widget: WidgetsModule["Widget"],
  sessions: Sessions,
  side: SidePanel,
  focus: () => void,
): HostWidget {
  const attributes = {
    type: "button",
    class: "acp-lab-status",
    "data-acp-lab": "status",
    click: focus,
  };
  const node = element("button", attributes);
  const widget = new Widget({ node: element("div", { class: "acp-lab-status-item" }, node) });
  widget.id = "acp-notebook-status";
  const update = () => {
    const { session } = side;
    node.hidden = session === null;
    if (!session) return;
    const { agent, state, cost, asks } = summaryOf(session.store.snapshot);
    const text = [agent, asks ? "asks you" : state, cost].filter(Boolean).join(" · ");
    if (node.textContent !== text) node.textContent = text;
    node.dataset["asks"] = String(asks);
    node.title = "Go to the agent";
  };
  sessions.changed.add(update);
  update();
  return widget;
}
