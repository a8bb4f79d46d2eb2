// Where the user writes: Enter sends, Shift+Enter begins a line, Up and Down bring earlier prompts, "/"
// lists the agent's commands, "@" what can be brought along, images are pasted or dropped.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Sent, Snapshot } from "../store";
import type { Command, Draft, Emit, Picture, Queued } from "../types";
import { CompletionList, matching } from "./completion";
import type { Choice } from "./completion";
import { atEdge, History } from "./history";
import { Icon } from "./icons";
import { filesOf, withFiles } from "./images";
import { mentionAt, mentioned, useMentions } from "./mentions";
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
  offered: Snapshot["offered"];
  returned: Snapshot["returned"];
  /** Why nothing can be sent; null if it can. */
  off: string | null;
  emit: Emit;
}

export function Composer(props: Props) {
  const { prompts, commands, queue, running, stopping, sent, offered, returned, off, emit } = props;
  const [text, setText] = useState(props.draft.text);
  const [images, setImages] = useState<readonly Picture[]>(props.draft.images);
  const [note, setNote] = useState("");
  const [slash, setSlash] = useState<readonly Choice[]>([]);
  const mentions = useMentions(offered, emit);
  const listed = slash.length > 0 ? slash : mentions.choices;
  const [active, setActive] = useState(0);
  const field = useRef<HTMLTextAreaElement>(null);
  const history = useRef(new History());
  const wrote = useRef<Draft | null>(null);
  const id = useId();

  const write = (next: string, pictures = images) => {
    setText(next);
    setImages(pictures);
    emit({ t: "draft", draft: { text: next, images: pictures } });
  };
  const replace = (next: string, caret = next.length, pictures = images) => {
    write(next, pictures);
    const el = field.current;
    if (!el) return;
    el.value = next;
    el.setSelectionRange(caret, caret);
  };
  const list = (el: HTMLTextAreaElement | null) => {
    setSlash(el ? matching(el.value, el.selectionStart, commands) : []);
    mentions.look(el ? mentionAt(el.value, el.selectionStart) : null);
    setActive(0);
  };
  const take = ({ name }: Choice) => {
    const el = field.current;
    if (!el) return;
    const caret = el.selectionStart;
    const fragment = mentionAt(el.value, caret);
    if (name.startsWith("/")) replace(`${name} `);
    else if (fragment !== null) {
      const next = mentioned(el.value, caret, fragment, name);
      replace(next.text, next.caret);
    }
    list(name.endsWith("/") ? el : null);
  };
  const send = () => {
    const said = text.trim() === "" ? "" : text;
    if (off !== null || (said === "" && images.length === 0)) return;
    emit(images.length > 0 ? { t: "prompt", text: said, images } : { t: "prompt", text: said });
    wrote.current = { text: said, images };
    history.current.leave();
    setNote("");
    list(null);
    write("", []);
  };
  useEffect(() => {
    const mine = wrote.current;
    if (!returned || !mine || mine.text !== returned.text) return; // another page's, or another panel's
    wrote.current = null;
    const now = field.current?.value ?? text;
    const both = now.trim() === "" ? mine.text : `${mine.text}\n${now}`;
    replace(both, both.length, [...mine.images, ...images]);
  }, [returned]);
  const add = async (files: readonly File[]) => {
    const added = await withFiles(images, files);
    setNote(added.refused.join(" "));
    write(field.current?.value ?? text, added.images);
  };

  const byKey = (event: KeyboardEvent) => {
    if (event.isComposing) return; // Enter ends a word of an input method
    const shown = {
      listed,
      active,
      setActive,
      take,
      close: () => list(null),
      field: field.current,
    };
    if (listed.length > 0 && inList(event, shown)) return stop(event);
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
  const what = slash.length > 0 ? "Commands" : "Names";
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
        {open && (
          <CompletionList id={id} label={what} choices={listed} active={active} take={take} />
        )}
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
            list(el);
            write(el.value);
          }}
          onKeyDown={byKey}
          onBlur={() => list(null)}
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
        {open &&
          `${listed.length} ${what.toLowerCase().slice(0, listed.length === 1 ? -1 : undefined)}`}
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
  listed: readonly Choice[];
  active: number;
  setActive: (at: number) => void;
  take: (choice: Choice) => void;
  close: () => void;
  field: HTMLTextAreaElement | null;
}

/** A key for the list; true if it was one. Enter sends what is written out already. */
function inList(event: KeyboardEvent, { listed, active, setActive, take, close, field }: List) {
  const choice = listed[active];
  const before = field?.value.slice(0, field.selectionStart) ?? "";
  switch (event.key) {
    case "ArrowDown":
      setActive((active + 1) % listed.length);
      return true;
    case "ArrowUp":
      setActive((active - 1 + listed.length) % listed.length);
      return true;
    case "Enter":
    case "Tab":
      if (!choice || event.shiftKey) return false;
      if (event.key === "Enter" && before.endsWith(choice.name)) return false;
      take(choice);
      return true;
    case "Escape":
      close();
      return true;
    default:
      return false;
  }
}
