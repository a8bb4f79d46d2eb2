// The field of the composer: Enter sends, Shift+Enter starts a new line, Up and Down bring back earlier
// prompts, "/" lists the agent's commands, "@" lists names.

import { useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { CompletionList } from "./completion";
import { isComposing } from "./composing";
import { atEdge, History } from "./history";
import type { Completion } from "./use_completion";
import type { DraftState } from "./use_draft";

interface Props {
  draft: DraftState;
  completion: Completion;
  /** The prompts of earlier turns. */
  prompts: readonly string[];
  placeholder: string;
  disabled: boolean;
  send: () => void;
  /** Returns whether what is pasted was taken. */
  takeFiles: (transfer: DataTransfer | null) => boolean;
  /** The buttons at its end. */
  children: ComponentChildren;
}

export function PromptField(props: Props) {
  const { draft, completion, prompts, placeholder, disabled, send, takeFiles, children } = props;
  const { id, choices, active } = completion;
  const history = useRef(new History());
  const open = choices.length > 0;

  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    if (isComposing(event)) return; // Enter ends a word of an input method
    if (completion.handleKey(event)) return consume(event);
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      consume(event);
      history.current.leave();
      send();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const el = event.currentTarget;
      const step = event.key === "ArrowUp" ? -1 : 1;
      if (event.shiftKey || !atEdge(step, el.value, el.selectionStart, el.selectionEnd)) return;
      const other = history.current.move(step, prompts, el.value);
      if (other === null) return;
      consume(event);
      draft.replace(other);
    }
  };
  return (
    <div class="acp-field">
      {open && (
        <CompletionList
          {...{ id, choices, active }}
          label={completion.label}
          accept={completion.accept}
        />
      )}
      <textarea
        ref={draft.field}
        rows={1}
        aria-label="Prompt for the agent"
        aria-autocomplete="list"
        aria-controls={open ? id : undefined}
        aria-activedescendant={open ? `${id}-${active}` : undefined}
        placeholder={placeholder}
        disabled={disabled}
        value={draft.text}
        onInput={({ currentTarget: el }) => {
          history.current.leave();
          completion.update(el);
          draft.write(el.value);
        }}
        onKeyDown={onKeyDown}
        onBlur={() => completion.update(null)}
        onPaste={(event) => {
          if (takeFiles(event.clipboardData)) consume(event);
        }}
      />
      {children}
    </div>
  );
}

function consume(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}
