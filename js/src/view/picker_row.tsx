// One of the agent's sessions: its title, folder and time, and what can be done with it.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { StoredSession } from "../types";
import { Icon } from "./icons";
import { line } from "./display_text";

interface Props {
  id: string;
  row: StoredSession;
  active: boolean;
  busy: boolean;
  can: { readonly open: boolean; readonly fork: boolean; readonly delete: boolean };
  /** Whether the user is asked to confirm that it is deleted. */
  confirming: boolean;
  open: () => void;
  fork: () => void;
  askDelete: () => void;
  confirmDelete: () => void;
  cancelDelete: () => void;
}

export function PickerRow(props: Props) {
  const { id, row, active, busy, can, confirming } = props;
  return (
    <div
      id={id}
      role="row"
      data-asking={confirming}
      aria-selected={active}
      data-acp-session={row.id}
      ref={(el) => void (active && el?.scrollIntoView?.({ block: "nearest" }))}
    >
      <span
        class="acp-picker-about"
        role="gridcell"
        data-off={busy || !can.open}
        onClick={() => !busy && can.open && props.open()}
      >
        <span class="acp-picker-title">
          {titleOf(row)}
          {(row.here || row.open) && (
            <span class="acp-badge">{row.here ? "this one" : "open"}</span>
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
        {confirming ? <ConfirmDelete {...props} /> : <RowButtons {...props} />}
      </span>
    </div>
  );
}

function ConfirmDelete({ busy, confirmDelete, cancelDelete }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => button.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <span role="alert">Delete permanently?</span>
      <button
        ref={button}
        type="button"
        class="acp-danger"
        aria-disabled={busy}
        onClick={() => !busy && confirmDelete()}
      >
        Delete
      </button>
      <button type="button" onClick={cancelDelete}>
        Keep
      </button>
    </>
  );
}

function RowButtons({ row, busy, can, fork, askDelete }: Props) {
  const title = titleOf(row);
  return (
    <>
      {can.fork && (
        <button
          type="button"
          class="acp-link"
          title="Open a copy of this session"
          disabled={busy}
          onClick={fork}
          aria-label={`Fork ${title}`}
        >
          Fork
        </button>
      )}
      {can.delete && !row.here && (
        <button
          type="button"
          class="acp-ghost"
          disabled={busy}
          aria-label={`Delete ${title}`}
          title="Delete"
          onClick={askDelete}
        >
          <Icon name="delete" />
        </button>
      )}
    </>
  );
}

function titleOf({ title }: StoredSession): string {
  return line(title ?? "") || "Untitled";
}

/** A time for people; text that is not a time stays as it is. */
export function when(text: string | null | undefined): string {
  if (!text) return "";
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return line(text);
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
