// Where the user writes: the queue, the images to send, the field and its buttons. Images are pasted or dropped.

import type { Sent, Snapshot } from "../store";
import type { Command, Draft, QueueEntry } from "../types";
import { AttachedImages } from "./attached_images";
import { Delivery } from "./delivery";
import { Icon } from "./icons";
import { filesOf } from "./images";
import { usePanel } from "./panel";
import { PromptField } from "./prompt_field";
import { QueueList } from "./queue";
import { useCompletion } from "./use_completion";
import type { Completion } from "./use_completion";
import { useDraft } from "./use_draft";

interface Props {
  draft: Draft;
  prompts: readonly string[];
  commands: readonly Command[];
  queue: readonly QueueEntry[];
  /** The id of the running turn. */
  running: string | null;
  stopping: boolean;
  /** Whether the stop button is here and not below the turn's cell. */
  stop: boolean;
  sent: ReadonlyMap<string, Sent>;
  offered: Snapshot["offered"];
  returned: Snapshot["returned"];
  /** Why nothing can be sent; null if it can. */
  off: string | null;
  onSend: () => void;
}

export function Composer(props: Props) {
  const { prompts, commands, queue, running, stopping, stop, sent, offered, returned, off } = props;
  const { emit } = usePanel();
  const draft = useDraft(props.draft, returned);
  const completion = useCompletion(draft, commands, offered);
  const send = () => {
    if (off !== null || draft.isEmpty) return;
    const { text, images } = draft.take();
    emit(images.length > 0 ? { t: "prompt", text, images } : { t: "prompt", text });
    completion.update(null);
    props.onSend();
  };
  const removeImage = (at: number) =>
    draft.write(
      draft.text,
      draft.images.filter((_, other) => other !== at),
    );
  return (
    <form
      class="acp-composer"
      data-acp-composer={off === null ? "ready" : "off"}
      data-lm-suppress-shortcuts="true"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      // JupyterLab handles line breaks in every cell: this one is for the field.
      onBeforeInputCapture={(event) => event.stopPropagation()}
      onDragOver={(event) => hasFiles(event) && event.preventDefault()}
      onDrop={(event) => {
        const files = filesOf(event.dataTransfer);
        if (files.length === 0) return;
        event.preventDefault();
        event.stopPropagation();
        void draft.addFiles(files);
      }}
    >
      {queue.length > 0 && (
        <QueueList running={running !== null} off={off !== null} {...{ queue, sent }} />
      )}
      {draft.images.length > 0 && <AttachedImages images={draft.images} remove={removeImage} />}
      <PromptField
        {...{ draft, completion, prompts, send }}
        placeholder={off ?? (running ? "Write the next prompt…" : "Ask the agent…")}
        disabled={off !== null}
      >
        {running !== null && stop && (
          <StopButton turn={running} disabled={off !== null || stopping || sent.has(running)} />
        )}
        <SendButton running={running !== null} disabled={off !== null || draft.isEmpty} />
      </PromptField>
      <div class="acp-composer-note" role="status">
        {countText(completion)}
        {draft.note}
      </div>
      {sent.get("prompt")?.slow && <Delivery slow what="prompt" />}
    </form>
  );
}

function StopButton({ turn, disabled }: { turn: string; disabled: boolean }) {
  const { emit } = usePanel();
  return (
    <button
      type="button"
      class="acp-round acp-halt"
      data-acp-stop={turn}
      aria-label="Stop this turn"
      title="Stop"
      disabled={disabled}
      onClick={() => emit({ t: "cancel", turn })}
    >
      <Icon name="stop" />
    </button>
  );
}

function SendButton({ running, disabled }: { running: boolean; disabled: boolean }) {
  const label = running ? "Send after this turn" : "Send";
  return (
    <button
      type="submit"
      class="acp-round acp-send"
      data-acp-send=""
      aria-label={label}
      title={`${label} (Enter)`}
      disabled={disabled}
    >
      <Icon name="send" />
    </button>
  );
}

/** "2 commands", for screen readers too. */
function countText({ choices, label }: Completion): string {
  if (choices.length === 0) return "";
  const word = label.toLowerCase();
  return `${choices.length} ${choices.length === 1 ? word.slice(0, -1) : word}`;
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}
