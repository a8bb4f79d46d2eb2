// Where the user writes: Enter sends, Shift+Enter begins a line, Up and Down bring earlier prompts, "/"
// lists the agent's commands, images are pasted or dropped.

import { useId, useRef, useState } from "preact/hooks";
import type { Sent } from "../store";
import type { Command, Draft, Emit, Picture, Queued } from "../types";
import { completed, CompletionList, matching } from "./completion";
import { atEdge, History } from "./history";
import { Icon } from "./icons";
import { filesOf, withFiles } from "./images";
import { Delivery } from "./permission";
import { QueueList } from "./queue";

interface Props {
  draft: Draft;
  prompts: readonly string[];
  commands: readonly Command[];
  queue: readonly Queued[];
  /** The id of the running turn. */
  running: string | null;
  stopping: boolean;
  sent: ReadonlyMap<string, Sent>;
  /** Why nothing can be sent; null if it can. */
  off: string | null;
  emit: Emit;
}

export function Composer(props: Props) {
  const { prompts, commands, queue, running, stopping, sent, off, emit } = props;
  const [text, setText] = useState(props.draft.text);
  const [images, setImages] = useState<readonly Picture[]>(props.draft.images);
  const [note, setNote] = useState("");
  const [listed, setListed] = useState<readonly Command[]>([]);
  const [active, setActive] = useState(0);
  const field = useRef<HTMLTextAreaElement>(null);
  const history = useRef(new History());
  const id = useId();

  const write = (next: string, pictures = images) => {
    setText(next);
    setImages(pictures);
    emit({ t: "draft", draft: { text: next, images: pictures } });
  };
  const replace = (next: string) => {
    write(next);
    const el = field.current;
    if (!el) return;
    el.value = next;
    el.setSelectionRange(next.length, next.length);
  };
  const take = (command: Command) => {
    replace(completed(command));
    setListed([]);
  };
  const send = () => {
    const said = text.trim() === "" ? "" : text;
    if (off !== null || (said === "" && images.length === 0)) return;
    emit(images.length > 0 ? { t: "prompt", text: said, images } : { t: "prompt", text: said });
    history.current.leave();
    setNote("");
    setListed([]);
    write("", []);
  };
  const add = async (files: readonly File[]) => {
    const added = await withFiles(images, files);
    setNote(added.refused.join(" "));
    write(field.current?.value ?? text, added.images);
  };

  const byKey = (event: KeyboardEvent) => {
    if (event.isComposing) return; // Enter ends a word of an input method
    const list = { listed, active, setActive, take, close: () => setListed([]), text };
    if (listed.length > 0 && inList(event, list)) return stop(event);
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      stop(event);
      send();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const el = event.currentTarget as HTMLTextAreaElement;
      const step = event.key === "ArrowUp" ? -1 : 1;
      if (event.shiftKey || !atEdge(step, el.value, el.selectionStart, el.selectionEnd)) return;
      const other = history.current.move(step, prompts, el.value);
      if (other === null) return;
      stop(event);
      replace(other);
    }
  };

  const open = listed.length > 0;
  return (
    <form
      class="acp-composer"
      data-acp-composer={off === null ? "ready" : "off"}
      data-lm-suppress-shortcuts="true"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      // JupyterLab takes line breaks from whatever is in a cell: this one is for the field.
      onBeforeInputCapture={(event) => event.stopPropagation()}
      onDragOver={(event) => filesOfAny(event) && event.preventDefault()}
      onDrop={(event) => {
        const files = filesOf(event.dataTransfer);
        if (files.length === 0) return;
        stop(event);
        void add(files);
      }}
    >
      {queue.length > 0 && (
        <QueueList running={running !== null} off={off !== null} {...{ queue, sent, emit }} />
      )}
      {images.length > 0 && (
        <ul class="acp-thumbs" aria-label="Images to send">
          {images.map(({ data, mime_type: type }, at) => (
            <li key={at}>
              <img src={`data:${type};base64,${data}`} alt={`Image ${at + 1}`} />
              <button
                type="button"
                aria-label={`Remove image ${at + 1}`}
                onClick={() => write(text, [...images.slice(0, at), ...images.slice(at + 1)])}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="acp-field">
        {open && <CompletionList id={id} commands={listed} active={active} take={take} />}
        <textarea
          ref={field}
          rows={1}
          aria-label="Prompt for the agent"
          aria-autocomplete="list"
          aria-controls={open ? id : undefined}
          aria-activedescendant={open ? `${id}-${active}` : undefined}
          placeholder={off ?? (running ? "Write the next prompt…" : "Ask the agent…")}
          disabled={off !== null}
          value={text}
          onInput={({ currentTarget: el }) => {
            history.current.leave();
            setListed(matching(el.value, el.selectionStart, commands));
            setActive(0);
            write(el.value);
          }}
          onKeyDown={byKey}
          onBlur={() => setListed([])}
          onPaste={(event) => {
            const files = filesOf(event.clipboardData);
            if (files.length === 0) return;
            stop(event);
            void add(files);
          }}
        />
        {running !== null && (
          <button
            type="button"
            class="acp-round acp-halt"
            data-acp-stop={running}
            aria-label="Stop this turn"
            title="Stop"
            disabled={off !== null || stopping || sent.has(running)}
            onClick={() => emit({ t: "cancel", turn: running })}
          >
            <Icon name="stop" />
          </button>
        )}
        <button
          type="submit"
          class="acp-round acp-send"
          data-acp-send=""
          aria-label={running ? "Send after this turn" : "Send"}
          title={running ? "Send after this turn (Enter)" : "Send (Enter)"}
          disabled={off !== null || (text.trim() === "" && images.length === 0)}
        >
          <Icon name="send" />
        </button>
      </div>
      <div class="acp-composer-note" role="status">
        {open && `${listed.length} command${listed.length === 1 ? "" : "s"}`}
        {note}
      </div>
      {sent.get("prompt")?.slow && <Delivery slow what="prompt" />}
    </form>
  );
}

function stop(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}

function filesOfAny(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

interface List {
  listed: readonly Command[];
  active: number;
  setActive: (at: number) => void;
  take: (command: Command) => void;
  close: () => void;
  text: string;
}

/** A key for the list of commands; true if it was one. Enter sends what is written out already. */
function inList(event: KeyboardEvent, { listed, active, setActive, take, close, text }: List) {
  const command = listed[active];
  switch (event.key) {
    case "ArrowDown":
      setActive((active + 1) % listed.length);
      return true;
    case "ArrowUp":
      setActive((active - 1 + listed.length) % listed.length);
      return true;
    case "Enter":
    case "Tab":
      if (!command || event.shiftKey) return false;
      if (event.key === "Enter" && completed(command).trim() === text.trim()) return false;
      take(command);
      return true;
    case "Escape":
      close();
      return true;
    default:
      return false;
  }
}
