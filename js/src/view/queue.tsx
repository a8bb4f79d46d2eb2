// Prompts that wait for earlier turns: each can be edited in place, moved up, sent now (which stops the running
// turn) or removed. The kernel owns the queue; only the text being edited is kept here.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Sent } from "../store";
import type { QueueEntry } from "../types";
import { isComposing } from "./composing";
import { Icon } from "./icons";
import { usePanel } from "./panel";
import { line } from "./display_text";

/** Length of a prompt in the name of a button. */
const NAMED_CHARS = 60;

interface Props {
  queue: readonly QueueEntry[];
  running: boolean;
  sent: ReadonlyMap<string, Sent>;
  off: boolean;
}

export function QueueList({ queue, running, sent, off }: Props) {
  return (
    <ol class="acp-queue" aria-label="Queued prompts" data-acp-queue={queue.length}>
      {queue.map((queued, at) => (
        <Entry key={queued.turn} off={off || sent.has(queued.turn)} {...{ queued, at, running }} />
      ))}
    </ol>
  );
}

interface EntryProps {
  queued: QueueEntry;
  at: number;
  running: boolean;
  off: boolean;
}

function Entry(props: EntryProps) {
  const [editing, setEditing] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const edited = useRef(false);
  useLayoutEffect(() => {
    if (edited.current && !editing) buttonOf(row.current, "edit")?.focus({ preventScroll: true });
    edited.current = editing;
  }, [editing]);
  return (
    <li ref={row} data-acp-queued={props.queued.turn}>
      {editing ? (
        <Editor queued={props.queued} close={() => setEditing(false)} />
      ) : (
        <Row {...props} edit={() => setEditing(true)} />
      )}
    </li>
  );
}

function Row({ queued, at, running, off, edit }: EntryProps & { edit: () => void }) {
  const { emit } = usePanel();
  const { turn, text, more, cut } = queued;
  const now = running ? "Stop the running turn and send this next" : "Send this next";
  return (
    <>
      <span class="acp-badge">queued</span>
      <span class="acp-queued-text" title={text}>
        {line(text)}
        {more > 0 && <span class="acp-quiet"> +{more}</span>}
      </span>
      <span class="acp-queue-buttons">
        {at > 0 && (
          <QueueButton
            does="move"
            name="Move up"
            {...{ text, off }}
            act={(button) => {
              // The first one cannot move up, so the button disappears.
              if (at === 1) buttonOf(button.closest("li"), "edit")?.focus({ preventScroll: true });
              emit({ t: "move", turn, to: at - 1 });
            }}
          >
            <Icon name="send" />
          </QueueButton>
        )}
        <QueueButton
          does="edit"
          name="Edit"
          title={cut ? "Too long to edit here" : "Edit"}
          off={off || cut}
          text={text}
          act={edit}
        />
        <QueueButton
          does="send"
          name="Send now"
          title={now}
          {...{ text, off }}
          act={(button) => {
            fieldOf(button)?.focus({ preventScroll: true });
            emit({ t: "send_now", turn });
          }}
        />
        <QueueButton
          does="remove"
          name="Remove"
          title="Remove from the queue"
          {...{ text, off }}
          act={(button) => {
            neighbour(button)?.focus({ preventScroll: true });
            emit({ t: "cancel", turn });
          }}
        />
      </span>
    </>
  );
}

interface QueueButtonProps {
  does: string;
  name: string;
  title?: string;
  /** The prompt that it applies to, for screen readers. */
  text: string;
  off: boolean;
  act: (button: HTMLElement) => void;
  children?: ComponentChildren;
}

/** A disabled one keeps the focus. */
function QueueButton({ does, name, title = name, text, off, act, children }: QueueButtonProps) {
  return (
    <button
      type="button"
      class="acp-link"
      data-acp-does={does}
      aria-label={`${name}: ${line(text).slice(0, NAMED_CHARS)}`}
      aria-disabled={off}
      title={title}
      onClick={({ currentTarget }) => !off && act(currentTarget)}
    >
      {children ?? name}
    </button>
  );
}

// Where the focus goes when the focused button disappears: otherwise the notebook would get the next key.

function buttonOf(row: Element | null | undefined, does: string): HTMLElement | null {
  return row?.querySelector<HTMLElement>(`[data-acp-does='${does}']`) ?? null;
}

function neighbour(button: HTMLElement): HTMLElement | null {
  const row = button.closest("li");
  const other = row?.nextElementSibling ?? row?.previousElementSibling;
  return buttonOf(other, button.dataset["acpDoes"] ?? "") ?? fieldOf(button);
}

function fieldOf(button: HTMLElement): HTMLElement | null {
  return button.closest("form")?.querySelector<HTMLElement>(".acp-field textarea") ?? null;
}

/** Enter saves the text, Escape leaves the prompt unchanged. */
function Editor({ queued, close }: { queued: QueueEntry; close: () => void }) {
  const { emit } = usePanel();
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
    if (isComposing(event) || event.shiftKey || event.altKey) return;
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
