// A field for a key. The key is in the field until it is sent, and nowhere else in the page: not in the state,
// not in the draft, not in an attribute.

import { useRef, useState } from "preact/hooks";
import type { SignInKey } from "../types";
import { usePanel } from "./panel";
import { line } from "./display_text";
import { usePageId } from "./page_id";

interface Props extends SignInKey {
  /** The method or key that is being tried. */
  trying: string | null | undefined;
}

export function KeyField({ name, label, trying }: Props) {
  const { link, emit } = usePanel();
  const id = usePageId();
  const field = useRef<HTMLInputElement>(null);
  const [filled, setFilled] = useState(false);
  const busy = typeof trying === "string";
  const send = (event: Event) => {
    event.preventDefault();
    event.stopPropagation(); // the host uses Enter, too
    const input = field.current;
    if (!input || input.value.trim() === "" || busy || link !== "live") return;
    emit({ t: "use_key", name, key: input.value });
    input.value = "";
    setFilled(false);
  };
  return (
    <form class="acp-signin-key" data-acp-signin-key={name} autocomplete="off" onSubmit={send}>
      <label for={id}>
        <code>{line(name)}</code> {label && <span class="acp-quiet">{line(label)}</span>}
      </label>
      <input
        ref={field}
        id={id}
        type="password"
        autocomplete="off"
        spellcheck={false}
        disabled={busy}
        onKeyDown={(event) => event.key === "Enter" && send(event)}
        onInput={({ currentTarget }) => setFilled(currentTarget.value.trim() !== "")}
      />
      <button type="submit" class="acp-primary" disabled={!filled || busy || link !== "live"}>
        {trying === name ? "Restarting the agent…" : "Use this key"}
      </button>
      {trying === name && (
        <button
          type="button"
          data-acp-signin-stop=""
          onClick={() => emit({ t: "sign_in", method: null })}
        >
          Stop
        </button>
      )}
      <span class="acp-quiet">
        Kept in memory until the agent is closed, never in a file. The agent is restarted with it.
      </span>
    </form>
  );
}
