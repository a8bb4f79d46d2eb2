// A permission question: one button per option, and afterwards who answered and how. An option of a kind
// that we do not know is shown like any other and never set off as an allow.

import type { Sent } from "../store";
import type { Emit, QuestionItem, ToolItem } from "../types";
import { line, spoken } from "./words";

interface Props {
  item: QuestionItem;
  tool: ToolItem | undefined;
  sent: Sent | undefined;
  live: boolean;
  emit: Emit;
}

export function PermissionView({ item, tool, sent, live, emit }: Props) {
  const about = tool ? line(tool.title || tool.name || tool.id) : "this";
  if (item.status !== "open") return <Settled item={item} about={about} />;
  const chosen = sent?.intent.t === "answer" ? sent.intent.option : undefined;
  return (
    <div class="acp-question" role="group" aria-label={`The agent asks: ${about}`}>
      <div>
        The agent asks for permission: <span class="acp-title">{about}</span>
      </div>
      <div class="acp-options">
        {item.options.map((option) => (
          <button
            key={option.id}
            type="button"
            data-acp-option={option.id}
            data-kind={option.kind}
            aria-pressed={chosen === option.id}
            disabled={!live || chosen !== undefined}
            onClick={() => emit({ t: "answer", question: item.key, option: option.id })}
          >
            {line(option.name)}
          </button>
        ))}
      </div>
      {chosen !== undefined && <Delivery slow={sent?.slow ?? false} what="answer" />}
    </div>
  );
}

/** What has become of something that was sent. */
export function Delivery({ slow, what }: { slow: boolean; what: string }) {
  return (
    <div class="acp-quiet" role="status">
      {slow ? `Kernel busy: your ${what} is delivered when the cell ends.` : "Sending…"}
    </div>
  );
}

function Settled({ item, about }: { item: QuestionItem; about: string }) {
  const option = item.options.find(({ id }) => id === item.answer);
  const answer = option ? line(option.name) : line(item.answer ?? "");
  return (
    <div class="acp-question" data-status={item.status}>
      <span class="acp-title">{about}</span>:{" "}
      {item.status === "answered" ? (
        <strong data-kind={option?.kind}>{answer}</strong>
      ) : (
        <span>{spoken(item.status)}</span>
      )}
      {item.by && <span class="acp-quiet"> by {spoken(item.by)}</span>}
      {item.reason && <span class="acp-quiet">: {line(item.reason)}</span>}
    </div>
  );
}
