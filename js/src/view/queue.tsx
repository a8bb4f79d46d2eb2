// The prompts that wait for the turns before them: each can be edited in its place, moved up, sent now
// (which stops the running turn) or removed. What waits is the kernel's; only the words being edited are
// kept here.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Sent } from "../store";
import type { Emit, Queued } from "../types";
import { Icon } from "./icons";
import { line } from "./words";

interface Props {
  queue: readonly Queued[];
  running: boolean;
  sent: ReadonlyMap<string, Sent>;
  off: boolean;
  emit: Emit;
}

export function QueueList({ queue, running, sent, off, emit }: Props) {
  const [editing, setEditing] = useState<string | null>(null);
  return (
    <ol class="acp-queue" aria-label="Queued prompts" data-acp-queue={queue.length}>
      {queue.map((queued, at) => (
        <li key={queued.turn} data-acp-queued={queued.turn}>
          {editing === queued.turn ? (
            <Editor queued={queued} close={() => setEditing(null)} emit={emit} />
          ) : (
            <Row
              queued={queued}
              at={at}
              running={running}
              off={off || sent.has(queued.turn)}
              edit={() => setEditing(queued.turn)}
              emit={emit}
            />
          )}
        </li>
      ))}
    </ol>
  );
}

interface RowProps {
  queued: Queued;
  at: number;
  running: boolean;
  off: boolean;
  edit: () => void;
  emit: Emit;
}

function Row({ queued, at, running, off, edit, emit }: RowProps) {
  const { turn, text, more, cut } = queued;
  const now = running ? "Stop the running turn, and send this next" : "Send this next";
  return (
    <>
      <span class="acp-badge">queued</span>
      <span class="acp-queued-text" title={text}>
        {line(text)}
        {(more ?? 0) > 0 && <span class="acp-quiet"> +{more}</span>}
      </span>
      <span class="acp-queue-buttons">
        {at > 0 && (
          <button
            type="button"
            class="acp-link"
            aria-label="Move up"
            title="Move up"
            disabled={off}
            onClick={() => emit({ t: "move", turn, to: at - 1 })}
          >
            <Icon name="send" />
          </button>
        )}
        <button
          type="button"
          class="acp-link"
          title={cut ? "Too long to be edited here" : "Edit"}
          disabled={off || cut === true}
          onClick={edit}
        >
          Edit
        </button>
        <button
          type="button"
          class="acp-link"
          title={now}
          disabled={off}
          onClick={() => emit({ t: "send_now", turn })}
        >
          Send now
        </button>
        <button
          type="button"
          class="acp-link"
          title="It is not sent"
          disabled={off}
          onClick={() => emit({ t: "cancel", turn })}
        >
          Remove
        </button>
      </span>
    </>
  );
}

/** Enter keeps the words, Escape leaves the prompt as it was. */
function Editor({ queued, close, emit }: { queued: Queued; close: () => void; emit: Emit }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(queued.text);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(text.length, text.length);
  }, []);
  const save = () => {
    if (text.trim() === "") return;
    if (text !== queued.text) emit({ t: "edit", turn: queued.turn, text });
    close();
  };
  const byKey = (event: KeyboardEvent) => {
    if (event.isComposing || event.shiftKey || event.altKey) return;
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") save();
    else close();
  };
  return (
    <>
      <textarea
        ref={field}
        class="acp-queue-edit"
        rows={1}
        aria-label="Queued prompt"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={byKey}
      />
      <span class="acp-queue-buttons">
        <button type="button" class="acp-link" disabled={text.trim() === ""} onClick={save}>
          Save
        </button>
        <button type="button" class="acp-link" onClick={close}>
          Cancel
        </button>
      </span>
    </>
  );
}
