// Where the user writes: the queue, the field and its buttons, and what goes with the prompt. Images are pasted,
// dropped or chosen, if the agent takes any.

import { useLayoutEffect } from "preact/hooks";

import type { Sent, Snapshot } from "../store";
import type { Turn } from "../turns";
import type { Command, Draft, QueueEntry } from "../types";
import { AttachButton } from "./attach";
import { AttachedImages } from "./attached_images";
import { Delivery } from "./delivery";
import { EditingLine } from "./editing";
import { Icon } from "./icons";
import { filesOf } from "./images";
import { MentionChips } from "./mention_chips";
import { unmentioned } from "./mentions";
import { usePanel } from "./panel";
import { PromptField } from "./prompt_field";
import { QueueList } from "./queue";
import { useCompletion } from "./use_completion";
import type { Completion } from "./use_completion";
import { useDraft } from "./use_draft";
import type { DraftState } from "./use_draft";
import { usePreviews } from "./use_previews";
import type { Wanted } from "./writing";

const NO_IMAGES = "This agent does not accept images.";

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
  previewed: Snapshot["previewed"];
  returned: Snapshot["returned"];
  turns: readonly Turn[];
  /** Whether the agent takes images. */
  images: boolean;
  /** What to put into the field. */
  wanted: Wanted | null;
  /** Why nothing can be sent; null if it can. */
  off: string | null;
  onSend: () => void;
}

export function Composer(props: Props) {
  const { prompts, commands, queue, running, stopping, stop, sent, off } = props;
  const { offered, previewed, returned, turns, images, wanted } = props;
  const { emit } = usePanel();
  const draft = useDraft(props.draft, returned);
  const completion = useCompletion(draft, commands, offered);
  const mentions = usePreviews(draft.text, previewed, completion.unfinished);
  useWanted(wanted, draft);
  const send = () => {
    if (off !== null || draft.isEmpty) return;
    const { text, images: added } = draft.take();
    emit(added.length > 0 ? { t: "prompt", text, images: added } : { t: "prompt", text });
    completion.update(null);
    props.onSend();
  };
  const removeImage = (at: number) =>
    draft.write(
      draft.text,
      draft.images.filter((_, other) => other !== at),
    );
  const addFiles = (files: readonly File[]) =>
    images ? void draft.addFiles(files) : draft.say(NO_IMAGES);
  const takeFiles = (transfer: DataTransfer | null): boolean => {
    const files = [...(transfer?.files ?? [])];
    // Spreadsheets put a picture of the text next to the text.
    const asText = transfer?.types?.includes("text/plain") ?? false;
    if (files.length === 0 || (asText && (!images || filesOf(transfer).length === 0))) return false;
    addFiles(files);
    return true;
  };
  const mention = () => {
    const el = draft.field.current;
    if (!el) return;
    const before = el.value.slice(0, el.selectionStart);
    const at = /(^|\s)$/.test(before) ? "@" : " @";
    draft.replace(before + at + el.value.slice(el.selectionEnd), before.length + at.length);
    el.focus();
    completion.update(el);
  };
  return (
    <form
      class="acp-composer"
      data-acp-composer={off === null ? "ready" : "off"}
      data-empty={draft.isEmpty}
      data-lm-suppress-shortcuts="true"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      // JupyterLab handles line breaks in every cell: this one is for the field.
      onBeforeInputCapture={(event) => event.stopPropagation()}
      onDragOver={(event) => hasFiles(event) && event.preventDefault()}
      onDrop={(event) => {
        if (!takeFiles(event.dataTransfer)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      {queue.length > 0 && (
        <QueueList running={running !== null} off={off !== null} {...{ queue, sent }} />
      )}
      {draft.editing && (
        <EditingLine editing={draft.editing} turns={turns} cancel={draft.stopEditing} />
      )}
      {draft.images.length > 0 && <AttachedImages images={draft.images} remove={removeImage} />}
      <PromptField
        {...{ draft, completion, prompts, send, takeFiles }}
        placeholder={off ?? (running ? "Write the next prompt…" : "Ask the agent…")}
        disabled={off !== null}
      >
        <AttachButton disabled={off !== null} {...{ images, mention, addFiles }} />
        {running !== null && stop && (
          <StopButton turn={running} disabled={off !== null || stopping || sent.has(running)} />
        )}
        <SendButton running={running !== null} disabled={off !== null || draft.isEmpty} />
      </PromptField>
      {mentions.length > 0 && (
        <MentionChips
          mentions={mentions}
          remove={(name) => {
            draft.replace(unmentioned(draft.text, name));
            draft.field.current?.focus();
          }}
        />
      )}
      <div class="acp-composer-note" role="status">
        {countText(completion)}
        {draft.note}
      </div>
      {sent.get("prompt")?.slow && <Delivery slow what="prompt" />}
    </form>
  );
}

/** Put into the field what another part of the panel asks for; nothing that was written is lost. */
function useWanted(wanted: Wanted | null, draft: DraftState): void {
  useLayoutEffect(() => {
    const el = draft.field.current;
    if (!wanted || !el) return;
    if ("edit" in wanted) draft.edit(wanted.edit);
    else draft.replace(el.value.trim() === "" ? wanted.insert : `${el.value}\n${wanted.insert}`);
    el.focus();
  }, [wanted]);
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
