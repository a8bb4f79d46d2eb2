// A turn: the prompt, its items, and the status line with the stop button.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { inFrame } from "../frame_schedule";
import type { Sent } from "../store";
import { isRunning, turnId } from "../turns";
import type { Turn } from "../turns";
import type { Item } from "../types";
import { ChangesView } from "./changes";
import { entriesOf } from "./entries";
import type { Entry } from "./entries";
import { useFollow } from "./follow";
import { GroupView } from "./group";
import { ItemView } from "./item";
import { memo } from "./memo";
import { NO_CHANGES, ownChanges } from "./own_changes";
import type { OwnChanges } from "./own_changes";
import { PromptView } from "./prompt";
import { useReach, useTarget } from "./reveal";
import type { Target } from "./reveal";
import { StatusLine } from "./status";
import { useStopKey } from "./stop_key";

/** Entries of a long turn shown at first, the newest ones. */
export const NEWEST = 100;
/** … and as many more each time. */
const STEP = 200;
/** Drawn in one frame: a burst of tool calls must not freeze the page. */
export const AT_ONCE = 12;

export interface TurnProps {
  turn: Turn;
  sent: ReadonlyMap<string, Sent>;
  folds: ReadonlyMap<string, boolean>;
  cited: ReadonlySet<string>;
  since: number | null;
}

/** A turn below its cell, where the page scrolls. */
export const TurnAlone = memo(function TurnAlone(props: TurnProps) {
  const box = useRef<HTMLDivElement>(null);
  const running = props.turn.start !== null && isRunning(props.turn.start);
  const { away, toEnd } = useFollow(box, running);
  const { start } = props.turn;
  const id = start ? turnId(start) : "";
  const stoppable = running && start?.cancelling !== true && !props.sent.has(id);
  const stop = useStopKey(stoppable ? id : null);
  return (
    <div ref={box} onKeyDown={stop.onKeyDown}>
      <TurnView {...props} toNewest={running && away ? toEnd : null} />
      <div class="acp-quiet" role="status">
        {stop.note}
      </div>
    </div>
  );
});

interface InPanel {
  toNewest?: (() => void) | null;
  /** The composer of the session's panel has its own stop button, which is always in sight. */
  stop?: boolean;
  /** Within the call that asked for it, which shows the prompt and scrolls. */
  inside?: boolean;
}

export const TurnView = memo(function TurnView(props: TurnProps & InPanel) {
  const { turn, sent, folds, cited, since, toNewest, stop = true, inside = false } = props;
  const { start, items } = turn;
  const id = start ? turnId(start) : "";
  const running = start !== null && isRunning(start);
  const entries = entriesOf(items, cited);
  const [count, setCount] = useState(NEWEST);
  useReach(targetIn(useTarget(), turn, entries), entries.length, count, STEP, setCount);
  const hidden = Math.max(0, entries.length - count);
  const [from, to] = useWindow(hidden, entries.length);
  const growing = running ? (items.at(-1)?.key ?? null) : null;
  const own = useOwnChanges(items, running, entries.slice(hidden));
  return (
    <div
      class="acp-turn"
      role="group"
      data-acp-turn={id}
      data-acp-status={start?.status ?? "none"}
      aria-label={start ? `Turn ${start.number}` : "Outside of a turn"}
    >
      {start && start.prompt.length > 0 && !inside && <PromptView start={start} />}
      {hidden > 0 && (
        <button
          type="button"
          class="acp-more"
          data-acp-earlier={hidden}
          onClick={() => setCount(count + STEP)}
        >
          Show {Math.min(hidden, STEP)} earlier
        </button>
      )}
      <div class="acp-items" role="log" aria-live="off" aria-busy={running}>
        {entries.slice(from, to).map((entry) => drawEntry(entry, { sent, folds, growing, own }))}
      </div>
      {items.map(
        (item) =>
          item.type === "changes" && (
            <ChangesView key={item.key} {...{ item, running, folds, own }} />
          ),
      )}
      {start && (
        <StatusLine
          start={start}
          items={items}
          since={running ? since : null}
          sent={sent.get(id)}
          toNewest={toNewest ?? null}
          stop={stop}
        />
      )}
    </div>
  );
});

/** What the cards show of the changes, once the turn is over: the same map until something changes. */
function useOwnChanges(
  items: readonly Item[],
  running: boolean,
  shown: readonly Entry[],
): OwnChanges {
  const first = shown[0]?.type === "item" ? shown[0].item.key : (shown[0]?.key ?? "");
  return useMemo(() => {
    if (running) return NO_CHANGES;
    const keys = new Set(shown.map((entry) => (entry.type === "item" ? entry.item.key : "")));
    return ownChanges(items, (tool) => keys.has(tool.key));
  }, [items, running, first]);
}

/** The index of the entry to show; -1: none of this turn's. */
function targetIn(target: Target | null, turn: Turn, entries: readonly Entry[]): number {
  if (target?.entry === undefined || target.turn !== turn.key) return -1;
  return entries.findIndex((it) => (it.type === "group" ? it : it.item).key === target.entry);
}

/** The entries to draw: a few more in each frame, until all from `first` to `end` are. */
function useWindow(first: number, end: number): readonly [number, number] {
  const drawn = useRef<readonly [number, number]>([first, first]);
  const [, redraw] = useState(0);
  const from = Math.max(first, Math.min(drawn.current[0] - AT_ONCE, end));
  const to = Math.min(end, Math.max(drawn.current[1], from) + AT_ONCE);
  useEffect(() => {
    drawn.current = [from, to];
    if (from === first && to === end) return;
    return inFrame(() => redraw((count) => count + 1));
  });
  return [from, to];
}

interface Around extends Pick<TurnProps, "sent" | "folds"> {
  /** The key of the item that more may be added to: the newest of a running turn. */
  growing: string | null;
  own: OwnChanges;
}

export function drawEntry(entry: Entry, { sent, folds, growing, own }: Around) {
  if (entry.type === "group")
    return <GroupView key={entry.key} name={entry.key} tools={entry.tools} folds={folds} />;
  const { item, question } = entry;
  return (
    <ItemView
      key={item.key}
      item={item}
      question={question}
      open={folds.get(item.key)}
      raw={folds.get(`${item.key}:raw`)}
      sent={sent.get(question?.key ?? item.key)}
      growing={item.key === growing}
      own={own.get(item.key)}
    />
  );
}
