// The prompt at the top of a turn.

import type { TurnItem } from "../types";
import { AskedByLine } from "./asked_turn";
import { ContentList } from "./content";

export function PromptView({ start }: { start: TurnItem }) {
  return (
    <div class="acp-prompt" role="group" aria-label="Prompt">
      {start.asked_by && <AskedByLine by={start.asked_by} />}
      <ContentList blocks={start.prompt} />
    </div>
  );
}
