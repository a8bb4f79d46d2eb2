// A panel without turns: what can be written, and example prompts that fit what the user has defined.

import { useContext, useEffect, useRef } from "preact/hooks";
import type { Link } from "../store";
import type { ExamplesMessage } from "../types";
import { line } from "./display_text";
import { usePageId } from "./page_id";
import { usePanel } from "./panel";
import { WritingContext } from "./writing";

interface Props {
  link: Link;
  /** Whether the agent has slash commands. */
  commands: boolean;
  examples: ExamplesMessage | null;
}

export function EmptyPanel({ link, commands, examples }: Props) {
  const { emit } = usePanel();
  const writing = useContext(WritingContext);
  const id = usePageId();
  const count = useRef(0);
  // Names change when cells run: asked again whenever the user comes to the panel.
  const ask = () => emit({ t: "examples", rid: `${id}-${++count.current}` });
  useEffect(() => {
    if (link === "live") ask();
  }, [link]);
  if (link !== "live") return <p class="acp-quiet acp-empty">{emptyText(link)}</p>;
  const prompts = examples?.prompts ?? [];
  return (
    <div class="acp-empty" data-acp-empty="" onPointerEnter={ask}>
      <ul class="acp-quiet">
        <li>
          <kbd>@</kbd> attaches a variable, a file or a cell
        </li>
        {commands && (
          <li>
            <kbd>/</kbd> lists the agent's commands
          </li>
        )}
        <li>
          <kbd>↑</kbd> brings back earlier prompts, <kbd>Esc</kbd> stops the turn, <kbd>?</kbd>{" "}
          lists all keys
        </li>
      </ul>
      {prompts.length > 0 && (
        <div class="acp-examples" role="group" aria-label="Example prompts">
          {prompts.map((prompt) => (
            <button
              type="button"
              key={prompt}
              data-acp-example=""
              onClick={() => writing?.insert(prompt)}
            >
              {line(prompt)}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

export function emptyText(link: Link): string {
  return link === "waiting" ? "Waiting for the kernel…" : "Nothing yet.";
}
