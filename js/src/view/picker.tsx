// The sessions that the agent keeps: found by typing, opened by Enter or a click, deleted after a question.
// The page lists what has come; more comes by the agent's pages.

import { useLayoutEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Emit, KeptSession, Picked, Picking } from "../types";
import { Icon } from "./icons";
import { line, reason } from "./words";

interface Props {
  offers: readonly string[];
  picked: ReadonlyMap<string, Picked>;
  live: boolean;
  emit: Emit;
  /** Shows the panel of the session that was opened, by its model. */
  show: (model: string) => void;
  close: () => void;
}

let numbers = 0;

/** Rows that are drawn at once; typing searches all that have come. */
export const DRAWN = 200;

export function Picker({ offers, picked, live, emit, show, close }: Props) {
  const lists = offers.includes("list");
  const [rows, setRows] = useState<readonly KeptSession[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  const [followed, setFollowed] = useState<ReadonlySet<string>>(new Set());
  const [note, setNote] = useState("");
  const [drawn, setDrawn] = useState(DRAWN);
  const [wanted, setWanted] = useState<Picking | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const [deleting, setDeleting] = useState<string | null>(null);
  const [failed, setFailed] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const how = offers.includes("load") ? "load" : offers.includes("resume") ? "resume" : null;
  const matched = useMemo(() => matching(rows, text), [rows, text]);
  const found = matched.slice(0, drawn);
  const at = Math.min(active, found.length - 1);

  const ask = (intent: Picking) => {
    setWanted(intent);
    setTrouble(null);
    emit(intent);
  };
  const more = (from: string | null) => ask({ t: "sessions", rid: fresh(), cursor: from });
  const open = (row: KeptSession) => {
    if (row.here) close();
    else if (how || row.open) ask({ t: "open", rid: fresh(), how: how ?? "resume", id: row.id });
  };

  /** No question any more: the focus goes back to where it is found from. */
  const keep = () => {
    setDeleting(null);
    field.current?.focus({ preventScroll: true });
  };

  useLayoutEffect(() => {
    field.current?.focus({ preventScroll: true });
    if (lists && live) more(null);
  }, []);

  useLayoutEffect(() => {
    const answer = wanted && picked.get(wanted.rid);
    if (!answer) return;
    setWanted(null);
    if (answer.error !== undefined) {
      if (wanted.t === "sessions") setFailed(true);
      return setTrouble(answer.error);
    }
    if (answer.model !== undefined) return show(answer.model);
    if (answer.deleted !== undefined) {
      setRows(rows.filter((row) => row.id !== answer.deleted));
      return keep();
    }
    setFailed(false);
    const all = new Map([...rows, ...(answer.sessions ?? [])].map((row) => [row.id, row]));
    for (const row of rows) all.set(row.id, row);
    const next = answer.cursor ?? null;
    const again = next !== null && followed.has(next) && all.size === rows.length;
    if (next !== null) setFollowed(new Set([...followed, next]));
    setRows([...all.values()]);
    setCursor(again ? null : next);
    if (again) setNote("The agent's list begins again here.");
    else if (answer.left_out) setNote(`${answer.left_out} more are not listed: too many at once.`);
  }, [picked, wanted]);

  const key = (event: KeyboardEvent) => {
    const row = found[at];
    if (event.key === "Escape") deleting === null ? close() : keep();
    else if (event.key === "ArrowDown") setActive(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") setActive(Math.max(at - 1, 0));
    else if (event.key === "Enter" && row && event.target === field.current) open(row);
    else if (event.key === "Delete" && row && text === "" && event.target === field.current)
      setDeleting(row.id);
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
      onKeyDown={key}
    >
      <div class="acp-picker-bar">
        {lists && (
          <input
            ref={field}
            type="text"
            placeholder="Search sessions"
            role="combobox"
            aria-label="Search sessions"
            aria-haspopup="grid"
            aria-expanded="true"
            aria-controls={id}
            aria-activedescendant={found[at] ? `${id}-${at}` : undefined}
            value={text}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value);
              setActive(0);
              setDrawn(DRAWN);
            }}
          />
        )}
        <button
          type="button"
          disabled={!live}
          onClick={() => ask({ t: "open", rid: fresh(), how: "new" })}
        >
          New session
        </button>
        {offers.includes("logout") && (
          <button type="button" disabled={!live} onClick={() => emit({ t: "sign_out" })}>
            Sign out
          </button>
        )}
        <button type="button" class="acp-ghost" aria-label="Close the list" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      {trouble !== null && (
        <p class="acp-bad" role="alert">
          {reason(trouble)}
        </p>
      )}
      {lists && (
        <div class="acp-picker-list" role="grid" id={id} aria-label="Sessions" tabIndex={-1}>
          {found.map((row, place) => (
            <Row
              key={row.id}
              id={`${id}-${place}`}
              row={row}
              active={place === at}
              busy={!live || wanted !== null}
              openable={row.open || how !== null}
              forks={offers.includes("fork")}
              deletes={offers.includes("delete")}
              asking={deleting === row.id}
              open={() => open(row)}
              fork={() => ask({ t: "open", rid: fresh(), how: "fork", id: row.id })}
              remove={() => setDeleting(row.id)}
              keep={keep}
              confirm={() => ask({ t: "delete", rid: fresh(), id: row.id })}
            />
          ))}
        </div>
      )}
      <p class="acp-quiet" role="status">
        {!failed && statusText(lists, wanted, rows.length, matched.length, cursor !== null)}
        {note && ` · ${note}`}
      </p>
      {matched.length > found.length ? (
        <button
          type="button"
          class="acp-more"
          data-acp-picker-more=""
          onClick={() => setDrawn(drawn + DRAWN)}
        >
          Show {Math.min(DRAWN, matched.length - found.length)} more
        </button>
      ) : (
        cursor !== null && (
          <button
            type="button"
            class="acp-more"
            data-acp-picker-more=""
            disabled={!live || wanted !== null}
            onClick={() => more(cursor)}
          >
            Show more
          </button>
        )
      )}
    </section>
  );
}

interface RowProps {
  id: string;
  row: KeptSession;
  active: boolean;
  busy: boolean;
  openable: boolean;
  forks: boolean;
  deletes: boolean;
  asking: boolean;
  open: () => void;
  fork: () => void;
  remove: () => void;
  keep: () => void;
  confirm: () => void;
}

function Row(props: RowProps) {
  const { id, row, active, busy, asking } = props;
  const title = line(row.title ?? "") || "Untitled";
  const sure = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (asking) sure.current?.focus({ preventScroll: true });
  }, [asking]);
  return (
    <div
      id={id}
      role="row"
      data-asking={asking}
      aria-selected={active}
      data-acp-session={row.id}
      ref={(el) => void (active && el?.scrollIntoView?.({ block: "nearest" }))}
    >
      <span
        class="acp-picker-about"
        role="gridcell"
        data-off={busy || !props.openable}
        onClick={() => !busy && props.openable && props.open()}
      >
        <span class="acp-picker-title">
          {title}
          {row.here ? (
            <span class="acp-badge">this one</span>
          ) : (
            row.open && <span class="acp-badge">open</span>
          )}
        </span>
        <span class="acp-quiet acp-picker-where" title={line(row.cwd)}>
          <bdi>{line(row.cwd)}</bdi>
        </span>
        <time class="acp-quiet" dateTime={row.updated_at ?? ""}>
          {when(row.updated_at)}
        </time>
      </span>
      <span class="acp-picker-buttons" role="gridcell">
        {asking ? (
          <>
            <span role="alert">Delete it for good?</span>
            <button
              ref={sure}
              type="button"
              class="acp-danger"
              aria-disabled={busy}
              onClick={() => !busy && props.confirm()}
            >
              Delete
            </button>
            <button type="button" onClick={props.keep}>
              Keep
            </button>
          </>
        ) : (
          <>
            {props.forks && (
              <button
                type="button"
                class="acp-link"
                title="A session of its own that begins as this one is"
                disabled={busy}
                onClick={props.fork}
                aria-label={`Fork ${title}`}
              >
                Fork
              </button>
            )}
            {props.deletes && !row.here && (
              <button
                type="button"
                class="acp-ghost"
                disabled={busy}
                aria-label={`Delete ${title}`}
                title="Delete"
                onClick={props.remove}
              >
                <Icon name="delete" />
              </button>
            )}
          </>
        )}
      </span>
    </div>
  );
}

function fresh(): string {
  return `p${++numbers}-${Math.random().toString(36).slice(2)}`;
}

/** All words, anywhere in the title, the folder or the id. */
export function matching(rows: readonly KeptSession[], text: string): readonly KeptSession[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const all = `${row.title ?? ""} ${row.cwd} ${row.id}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** A time for people; what is none, as it came. */
export function when(text: string | null | undefined): string {
  if (!text) return "";
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return line(text);
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

function statusText(
  lists: boolean,
  wanted: Picking | null,
  all: number,
  found: number,
  more: boolean,
): string {
  if (wanted?.t === "sessions") return "Loading…";
  if (wanted?.t === "open") return "Opening…";
  if (wanted?.t === "delete") return "Deleting…";
  if (!lists) return "";
  if (all === 0) return more ? "No sessions so far." : "No sessions yet.";
  const sessions = `${all} ${all === 1 ? "session" : "sessions"}${more ? " so far" : ""}`;
  return found === all ? sessions : `${found} of ${sessions}`;
}
