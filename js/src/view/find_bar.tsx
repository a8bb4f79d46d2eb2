// The field to search in the conversation: the number of hits, and buttons to the next and the previous one.

import { useLayoutEffect, useRef } from "preact/hooks";
import { MOST_HITS } from "./find";
import { Icon } from "./icons";
import type { Find } from "./use_find";

export function FindBar({ find }: { find: Find }) {
  const { query, hits, ask, go, close } = find;
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    field.current?.focus({ preventScroll: true });
    field.current?.select();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target === field.current) go(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const none = hits.length === 0;
  return (
    <div class="acp-find" role="search" aria-label="Conversation" onKeyDown={onKeyDown}>
      <input
        ref={field}
        type="text"
        data-acp-find=""
        aria-label="Search the conversation"
        placeholder="Search the conversation"
        autocomplete="off"
        spellcheck={false}
        value={query}
        onInput={({ currentTarget }) => ask(currentTarget.value)}
      />
      <span class="acp-find-count" role="status" data-acp-hits={hits.length}>
        {countText(find)}
      </span>
      <button type="button" title="Previous (Shift+Enter)" disabled={none} onClick={() => go(-1)}>
        <Icon name="up" />
        <span class="acp-hidden">Previous</span>
      </button>
      <button type="button" title="Next (Enter)" disabled={none} onClick={() => go(1)}>
        <Icon name="down" />
        <span class="acp-hidden">Next</span>
      </button>
      <button type="button" title="Close (Esc)" data-acp-find-close="" onClick={close}>
        <Icon name="close" />
        <span class="acp-hidden">Close the search</span>
      </button>
    </div>
  );
}

function countText({ query, hits, at, searching }: Find): string {
  if (query.trim() === "") return "";
  if (hits.length === 0) return searching ? "Searching…" : "Not found";
  return `${at + 1} of ${hits.length}${hits.length >= MOST_HITS ? " or more" : ""}`;
}
