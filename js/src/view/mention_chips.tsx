// What goes with the prompt, before it is sent: a chip for each @-name, with its kind and size.

import type { MentionPreview } from "../types";
import { line, size } from "./display_text";
import { Icon } from "./icons";

interface Props {
  mentions: readonly MentionPreview[];
  remove: (name: string) => void;
}

export function MentionChips({ mentions, remove }: Props) {
  return (
    <ul class="acp-chips" aria-label="Attached to the prompt">
      {mentions.map((mention) => (
        <li key={mention.name} data-acp-chip={mention.name} data-status={mention.status}>
          <code>@{line(mention.name)}</code>
          <span title={line(mention.note || mention.about)}>{aboutOf(mention)}</span>
          <button
            type="button"
            class="acp-ghost"
            aria-label={`Remove @${line(mention.name)}`}
            onClick={() => remove(mention.name)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

function aboutOf({ about, status, size: bytes, note }: MentionPreview): string {
  if (status === "missing") return "not found";
  const facts = [line(about), bytes === null ? "" : size(bytes), line(note)];
  if (status === "busy") facts.push("size unknown while a cell runs");
  return facts.filter((fact) => fact !== "").join(" · ");
}
