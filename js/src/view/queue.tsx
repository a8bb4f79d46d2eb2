// The prompts that wait for the turns before them: each can be edited in its place, moved up, sent now
// (which stops the running turn) or removed. What waits is the kernel's; only the words being edited are
// kept here.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Sent } from "../store";
import type { Emit, Queued } from "../types";
import { Icon } from "./icons";
import { line } from "./words";

/** Of a prompt, in the name of a button. */
const NAMED_CHARS = 60;

interface Props {
  queue: readonly Queued[];
  running: boolean;
  sent: ReadonlyMap<string, Sent>;
  off: boolean;
  emit: Emit;
}

export function QueueList({ queue, running, sent, off, emit }: Props) {
  return (
    <ol class="acp-queue" aria-label="Queued prompts" data-acp-queue={queue.length}>
      {queue.map((queued, at) => (
        <Entry
          key={queued.turn}
          off={off || sent.has(queued.turn)}
          {...{ queued, at, running, emit }}
        />
      ))}
    </ol>
  );
}

interface EntryProps {
  queued: Queued;
  at: number;
  running: boolean;
  off: boolean;
  emit: Emit;
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
        <Editor queued={props.queued} close={() => setEditing(false)} emit={props.emit} />
      ) : (
        <Row {...props} edit={() => setEditing(true)} />
      )}
    </li>
  );
}

function Row({ queued, at, running, off, edit, emit }: EntryProps & { edit: () => void }) {
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
          <Act
            does="move"
            name="Move up"
            {...{ text, off }}
            act={(button) => {
              // The first one has nowhere to go, and so no such button.
              if (at === 1) buttonOf(button.closest("li"), "edit")?.focus({ preventScroll: true });
              emit({ t: "move", turn, to: at - 1 });
            }}
          >
            <Icon name="send" />
          </Act>
        )}
        <Act
          does="edit"
          name="Edit"
          title={cut ? "Too long to be edited here" : "Edit"}
          off={off || cut === true}
          text={text}
          act={edit}
        />
        <Act
          does="send"
          name="Send now"
          title={now}
          {...{ text, off }}
          act={(button) => {
            fieldOf(button)?.focus({ preventScroll: true });
            emit({ t: "send_now", turn });
          }}
        />
        <Act
          does="remove"
          name="Remove"
          title="It is not sent"
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

interface ActProps {
  does: string;
  name: string;
  title?: string;
  /** Which prompt it is about, for who does not see where the button stands. */
  text: string;
  off: boolean;
  act: (button: HTMLElement) => void;
  children?: ComponentChildren;
}

/** One that cannot be used now keeps the keyboard's focus. */
function Act({ does, name, title = name, text, off, act, children }: ActProps) {
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

// Where the focus goes when what has it goes: else the next key would be the notebook's.

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
