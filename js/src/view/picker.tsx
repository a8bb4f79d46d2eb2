// The list of the agent's sessions: searched by typing, opened with Enter or a click, deleted after a question.

import type { Ref } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { StoredSession, PickedMessage } from "../types";
import { Icon } from "./icons";
import { usePanel } from "./panel";
import { PickerRow } from "./picker_row";
import { useSessionList } from "./use_session_list";
import type { SessionList } from "./use_session_list";
import { reason } from "./display_text";
import { usePageId } from "./page_id";

interface Props {
  offers: readonly string[];
  picked: ReadonlyMap<string, PickedMessage>;
  /** Shows the panel of the session that was opened, by its model. */
  show: (model: string) => void;
  close: () => void;
}

/** Rows drawn at once; the search covers all that have come. */
export const DRAWN = 200;

export function Picker({ offers, picked, show, close }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const id = usePageId();
  const [text, setText] = useState("");
  const [drawn, setDrawn] = useState(DRAWN);
  const [active, setActive] = useState(0);
  const [deleting, setDeleting] = useState<string | null>(null);
  /** Stop asking; the focus goes back to the search. */
  const cancelDelete = () => {
    setDeleting(null);
    field.current?.focus({ preventScroll: true });
  };
  const lists = offers.includes("list");
  const list = useSessionList({ picked, lists, onOpened: show, onDeleted: cancelDelete });
  const matched = useMemo(() => matching(list.rows, text), [list.rows, text]);
  const found = matched.slice(0, drawn);
  const at = Math.min(active, found.length - 1);
  const how = openMethod(offers);
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []);

  const open = (row: StoredSession) => {
    if (row.here) close();
    else if (how || row.open) list.request({ t: "open", how: how ?? "resume", id: row.id });
  };
  const search = (next: string) => {
    setText(next);
    setActive(0);
    setDrawn(DRAWN);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = event.target === field.current ? found[at] : undefined;
    if (event.key === "Escape") deleting === null ? close() : cancelDelete();
    else if (event.key === "ArrowDown") setActive(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") setActive(Math.max(at - 1, 0));
    else if (event.key === "Enter" && row) open(row);
    else if (event.key === "Delete" && row && text === "") setDeleting(row.id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section
      class="acp-picker"
      role="group"
      aria-label="Sessions of this agent"
      data-acp-picker=""
      onKeyDown={onKeyDown}
    >
      <div class="acp-picker-bar">
        {lists && (
          <Search
            {...{ field, text, search }}
            list={id}
            active={found[at] ? `${id}-${at}` : undefined}
          />
        )}
        <BarButtons
          signsOut={offers.includes("logout")}
          create={() => list.request({ t: "open", how: "new" })}
          close={close}
        />
      </div>
      {list.error !== null && (
        <p class="acp-bad" role="alert">
          {reason(list.error)}
        </p>
      )}
      {lists && (
        <Rows
          {...{ id, found, list, offers, deleting, setDeleting, cancelDelete, open }}
          active={at}
        />
      )}
      <p class="acp-quiet" role="status">
        {!list.failed && statusText(list, lists, matched.length)}
        {list.note && ` · ${list.note}`}
      </p>
      <MoreButton
        list={list}
        hidden={matched.length - found.length}
        draw={() => setDrawn(drawn + DRAWN)}
      />
    </section>
  );
}

interface RowsProps {
  id: string;
  found: readonly StoredSession[];
  active: number;
  list: SessionList;
  offers: readonly string[];
  /** The id of the session that the user is asked about. */
  deleting: string | null;
  setDeleting: (id: string) => void;
  cancelDelete: () => void;
  open: (row: StoredSession) => void;
}

function Rows(props: RowsProps) {
  const { id, found, active, list, offers, deleting, setDeleting, cancelDelete, open } = props;
  const { link } = usePanel();
  return (
    <div class="acp-picker-list" role="grid" id={id} aria-label="Sessions" tabIndex={-1}>
      {found.map((row, at) => (
        <PickerRow
          key={row.id}
          id={`${id}-${at}`}
          row={row}
          active={at === active}
          busy={link !== "live" || list.pending !== null}
          can={{
            open: row.open || openMethod(offers) !== null,
            fork: offers.includes("fork"),
            delete: offers.includes("delete"),
          }}
          confirming={deleting === row.id}
          open={() => open(row)}
          fork={() => list.request({ t: "open", how: "fork", id: row.id })}
          askDelete={() => setDeleting(row.id)}
          confirmDelete={() => list.request({ t: "delete", id: row.id })}
          cancelDelete={cancelDelete}
        />
      ))}
    </div>
  );
}

/** How the agent opens a session that it keeps; null if it cannot. */
function openMethod(offers: readonly string[]): "load" | "resume" | null {
  return offers.includes("load") ? "load" : offers.includes("resume") ? "resume" : null;
}

interface SearchProps {
  field: Ref<HTMLInputElement>;
  text: string;
  /** The ids of the list, and of the active row. */
  list: string;
  active: string | undefined;
  search: (text: string) => void;
}

function Search({ field, text, list, active, search }: SearchProps) {
  return (
    <input
      ref={field}
      type="text"
      placeholder="Search sessions"
      role="combobox"
      aria-label="Search sessions"
      aria-haspopup="grid"
      aria-expanded="true"
      aria-controls={list}
      aria-activedescendant={active}
      value={text}
      onInput={({ currentTarget }) => search(currentTarget.value)}
    />
  );
}

interface BarProps {
  signsOut: boolean;
  create: () => void;
  close: () => void;
}

function BarButtons({ signsOut, create, close }: BarProps) {
  const { link, emit } = usePanel();
  const off = link !== "live";
  return (
    <>
      <button type="button" disabled={off} onClick={create}>
        New session
      </button>
      {signsOut && (
        <button type="button" disabled={off} onClick={() => emit({ t: "sign_out" })}>
          Sign out
        </button>
      )}
      <button type="button" class="acp-ghost" aria-label="Close the list" onClick={close}>
        <Icon name="close" />
      </button>
    </>
  );
}

/** First draws the rows that have come, then loads more from the agent. */
function MoreButton(props: { list: SessionList; hidden: number; draw: () => void }) {
  const { list, hidden, draw } = props;
  const { link } = usePanel();
  if (hidden === 0 && list.cursor === null) return null;
  return (
    <button
      type="button"
      class="acp-more"
      data-acp-picker-more=""
      disabled={hidden === 0 && (link !== "live" || list.pending !== null)}
      onClick={hidden > 0 ? draw : list.loadMore}
    >
      {hidden > 0 ? `Show ${Math.min(DRAWN, hidden)} more` : "Show more"}
    </button>
  );
}

/** All words, anywhere in the title, the folder or the id. */
export function matching(rows: readonly StoredSession[], text: string): readonly StoredSession[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const all = `${row.title ?? ""} ${row.cwd} ${row.id}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

function statusText({ rows, pending, cursor }: SessionList, lists: boolean, found: number): string {
  if (pending?.t === "sessions") return "Loading…";
  if (pending?.t === "open") return "Opening…";
  if (pending?.t === "delete") return "Deleting…";
  if (!lists) return "";
  const more = cursor !== null;
  const count = rows.length;
  if (count === 0) return more ? "No sessions so far." : "No sessions yet.";
  const sessions = `${count} ${count === 1 ? "session" : "sessions"}${more ? " so far" : ""}`;
  return found === count ? sessions : `${found} of ${sessions}`;
}
