// The sessions that the agent keeps, as far as they have come: page by page, one request at a time.

import { useLayoutEffect, useState } from "preact/hooks";
import type { StoredSession, PickedMessage, Picking } from "../types";
import { usePanel } from "./panel";

interface Options {
  /** The kernel's answers, by request. */
  picked: ReadonlyMap<string, PickedMessage>;
  /** Whether the agent lists its sessions. */
  lists: boolean;
  /** A session was opened: show its panel, by its model. */
  onOpened: (model: string) => void;
  onDeleted: () => void;
}

export interface SessionList {
  readonly rows: readonly StoredSession[];
  /** Where the next page begins; null after the last one. */
  readonly cursor: string | null;
  /** The request under way. */
  readonly pending: Picking | null;
  readonly error: string | null;
  /** Whether the last page could not be loaded. */
  readonly failed: boolean;
  /** What the user should know about the list. */
  readonly note: string;
  request(intent: Unnumbered<Picking>): void;
  loadMore(): void;
}

/** Without its number, which the request gets here. */
type Unnumbered<T> = T extends unknown ? Omit<T, "rid"> : never;

let requests = 0;

export function useSessionList({ picked, lists, onOpened, onDeleted }: Options): SessionList {
  const { link, emit } = usePanel();
  const [rows, setRows] = useState<readonly StoredSession[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  const [followed, setFollowed] = useState<ReadonlySet<string>>(new Set());
  const [pending, setPending] = useState<Picking | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [failed, setFailed] = useState(false);
  const [note, setNote] = useState("");

  const request = (unnumbered: Unnumbered<Picking>) => {
    const intent = { ...unnumbered, rid: newId() } as Picking;
    setPending(intent);
    setError(null);
    emit(intent);
  };
  const load = (from: string | null) => request({ t: "sessions", cursor: from });
  useLayoutEffect(() => {
    if (lists && link === "live") load(null);
  }, []);

  const addPage = (answer: PickedMessage) => {
    setFailed(false);
    const known = new Map(rows.map((row) => [row.id, row]));
    for (const row of answer.sessions ?? []) if (!known.has(row.id)) known.set(row.id, row);
    const next = answer.cursor ?? null;
    const again = next !== null && followed.has(next) && known.size === rows.length;
    if (next !== null) setFollowed(new Set([...followed, next]));
    setRows([...known.values()]);
    setCursor(again ? null : next);
    if (again) setNote("The agent's list starts over here.");
    else if (answer.left_out) setNote(`${answer.left_out} more are not listed: too many at once.`);
  };
  useLayoutEffect(() => {
    const answer = pending && picked.get(pending.rid);
    if (!answer) return;
    setPending(null);
    if (answer.error !== undefined) {
      if (pending.t === "sessions") setFailed(true);
      setError(answer.error);
    } else if (answer.model !== undefined) onOpened(answer.model);
    else if (answer.deleted !== undefined) {
      setRows(rows.filter((row) => row.id !== answer.deleted));
      onDeleted();
    } else addPage(answer);
  }, [picked, pending]);

  return { rows, cursor, pending, error, failed, note, request, loadMore: () => load(cursor) };
}

function newId(): string {
  return `p${++requests}-${Math.random().toString(36).slice(2)}`;
}
