// The prompt at the top of a turn. In a panel, one that is over can be edited and sent again.

import { useContext } from "preact/hooks";
import { isRunning } from "../turns";
import type { TurnItem } from "../types";
import { AskedByLine } from "./asked_turn";
import { ContentList } from "./content";
import { CopyMessage } from "./copy_message";
import { named } from "./display_text";
import { Icon } from "./icons";
import { usePanel } from "./panel";
import { picturesOf, wordsOf } from "./prompt_text";
import { WritingContext } from "./writing";

export function PromptView({ start }: { start: TurnItem }) {
  const writing = useContext(WritingContext);
  const { link } = usePanel();
  const own = !start.asked_by && (wordsOf(start.prompt) || picturesOf(start.prompt).length > 0);
  return (
    <div class="acp-prompt" role="group" aria-label="Prompt" data-acp-prompt={start.key}>
      <span class="acp-prompt-buttons">
        <CopyMessage blocks={start.prompt} what="prompt" />
        {writing && own && !isRunning(start) && (
          <button
            type="button"
            class="acp-ghost"
            data-acp-edit-prompt=""
            aria-label={`Edit the prompt of turn ${start.number}`}
            title="Edit and send again"
            disabled={link !== "live"}
            onClick={() => writing.edit(start)}
          >
            <Icon name="edit" />
          </button>
        )}
      </span>
      {start.asked_by && <AskedByLine by={start.asked_by} />}
      {start.person && <div class="acp-asked-name">Prompt{named(start.person)}</div>}
      <ContentList blocks={start.prompt} />
    </div>
  );
}
