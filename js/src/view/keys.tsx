// The keys of the panel: a line below the composer that says which ones help now, and the list of all.

import { useRef, useState } from "preact/hooks";
import { answerFrom } from "./answer_keys";
import { isComposing } from "./composing";
import { useStopKey } from "./stop_key";

const KEYS: readonly (readonly [string, string])[] = [
  ["Enter", "send the prompt"],
  ["Shift+Enter", "new line"],
  ["↑ ↓", "earlier prompts"],
  ["/", "the agent's commands"],
  ["@", "attach a variable, a file or a cell"],
  ["Esc", "stop the turn; twice, if something is written"],
  ["1", "allow once"],
  ["2", "reject"],
  ["3 4", "allow for this session, always allow; press twice in the composer"],
  ["Ctrl+F", "search the conversation"],
  ["?", "this list"],
];

/** Somebody who wrote a moment ago is still writing. */
export const CALM_MS = 1000;

export interface Keys {
  /** For the panel. */
  onKeyDown: (event: KeyboardEvent & { currentTarget: HTMLElement }) => void;
  onKeyUp: () => void;
  onInput: () => void;
  readonly listed: boolean;
  toggle: () => void;
  /** What to press next. */
  readonly note: string;
}

/** The keys that work wherever the focus is in the panel. `turn`: the id of the one that can be stopped. */
export function useKeys(turn: string | null): Keys {
  const stop = useStopKey(turn);
  const [listed, setListed] = useState(false);
  const written = useRef(-Infinity);
  const held = useRef<string | null>(null);
  const consume = (event: KeyboardEvent) => {
    event.preventDefault();
    event.stopPropagation();
    held.current = event.key;
  };
  const onKeyDown: Keys["onKeyDown"] = (event) => {
    if (event.repeat && event.key === held.current) return consume(event);
    const calm = performance.now() - written.current >= CALM_MS;
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey && !isComposing(event);
    if (listed && event.key === "Escape" && !event.defaultPrevented) {
      consume(event);
      setListed(false);
    } else if (plain && event.key === "?" && isFree(event.target)) {
      if (!listed) consume(event); // pressed again, it is written
      setListed(!listed);
    } else if (plain && calm && isEmptyComposer(event.target) && answerFrom(event.target, event))
      consume(event);
    else stop.onKeyDown(event);
  };
  return {
    onKeyDown,
    onKeyUp: () => void (held.current = null),
    onInput() {
      written.current = performance.now();
      setListed(false);
      stop.onInput();
    },
    listed,
    toggle: () => setListed(!listed),
    note: listed ? "Esc closes the list of keys." : stop.note,
  };
}

const EDITABLE = "input, textarea, select";

function isEmptyComposer(target: EventTarget | null): target is HTMLTextAreaElement {
  return (
    target instanceof HTMLTextAreaElement &&
    target.value === "" &&
    target.closest("[data-acp-composer]")?.getAttribute("data-empty") === "true"
  );
}

/** Whether a character is not written into a field. */
function isFree(target: EventTarget | null): boolean {
  return isEmptyComposer(target) || (target instanceof Element && !target.matches(EDITABLE));
}

interface Props {
  keys: Pick<Keys, "listed" | "toggle" | "note">;
  running: boolean;
  /** Whether a permission question is open. */
  asking: boolean;
}

/** Below the composer. */
export function KeysLine({ keys: { listed, toggle, note }, running, asking }: Props) {
  return (
    <div class="acp-keys">
      {listed && <KeysList />}
      <span role="status">{note || (asking ? "1 allows once, 2 rejects." : "")}</span>
      {!note && !asking && (
        <span class="acp-keys-hint">
          {running ? "Esc stops the turn." : "Enter sends, Shift+Enter starts a new line."}
        </span>
      )}
      <button
        type="button"
        class="acp-link"
        data-acp-keys=""
        aria-expanded={listed}
        onClick={toggle}
      >
        <kbd class="acp-key" aria-hidden="true">
          ?
        </kbd>
        Keys
      </button>
    </div>
  );
}

function KeysList() {
  return (
    <dl class="acp-keys-list">
      {KEYS.map(([key, what]) => (
        <div key={key}>
          <dt>
            <kbd class="acp-key">{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
