// A turn: the prompt, what came of it, and a line that says how it stands, with the stop button.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Link, Sent } from "../store";
import { isRunning, turnId } from "../turns";
import type { Turn } from "../turns";
import type { Emit } from "../types";
import { ChangesView } from "./changes";
import { ContentList } from "./content";
import { entriesOf } from "./entries";
import type { Entry } from "./entries";
import { useFollow } from "./follow";
import { GroupView } from "./group";
import { ItemView } from "./item";
import { memo } from "./memo";
import { StatusLine } from "./status";

/** Shown at once of a long turn: its newest part. */
export const NEWEST = 100;
/** … and as many more each time. */
const STEP = 200;
/** Drawn in one frame: a burst of tool calls must not stop the page. */
export const AT_ONCE = 12;

interface Props {
  turn: Turn;
  link: Link;
  sent: ReadonlyMap<string, Sent>;
  folds: ReadonlyMap<string, boolean>;
  cited: ReadonlySet<string>;
  since: number | null;
  emit: Emit;
}

/** A turn below its cell: the page around it is what scrolls. */
export const TurnAlone = memo(function TurnAlone(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const running = props.turn.start !== null && isRunning(props.turn.start);
  const { away, toEnd } = useFollow(box, running);
  return (
    <div ref={box}>
      <TurnView {...props} toNewest={running && away ? toEnd : null} />
    </div>
  );
});

interface InPanel {
  toNewest?: (() => void) | null;
  /** The session's panel has a stop button of its own, which is in sight wherever one reads. */
  stop?: boolean;
}

export const TurnView = memo(function TurnView(props: Props & InPanel) {
  const { turn, link, sent, folds, cited, since, toNewest, stop = true, emit } = props;
  const { start, items } = turn;
  const id = start ? turnId(start) : "";
  const running = start !== null && isRunning(start);
  const entries = entriesOf(items, cited);
  const [count, setCount] = useState(NEWEST);
  const hidden = Math.max(0, entries.length - count);
  const [from, to] = useWindow(hidden, entries.length);
  const growing = running ? (items.at(-1)?.key ?? null) : null;
  return (
    <div
      class="acp-turn"
      role="group"
      data-acp-turn={id}
      data-acp-status={start?.status ?? "none"}
      aria-label={start ? `Turn ${start.number}` : "Before the first turn"}
    >
      {start && start.prompt.length > 0 && (
        <div class="acp-prompt" role="group" aria-label="Prompt">
          <ContentList blocks={start.prompt} />
        </div>
      )}
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
        {entries.slice(from, to).map((entry) => draw(entry, { sent, folds, link, growing, emit }))}
      </div>
      {items.map(
        (item) =>
          item.type === "changes" && (
            <ChangesView key={item.key} item={item} running={running} folds={folds} emit={emit} />
          ),
      )}
      {start && (
        <StatusLine
          start={start}
          items={items}
          since={running ? since : null}
          sent={sent.get(id)}
          link={link}
          toNewest={toNewest ?? null}
          stop={stop}
          emit={emit}
        />
      )}
    </div>
  );
});

/** Which entries are drawn: those from `first` to `end`, as soon as frames allow it. */
function useWindow(first: number, end: number): readonly [number, number] {
  const drawn = useRef<readonly [number, number]>([first, first]);
  const [, redraw] = useState(0);
  const from = Math.max(first, Math.min(drawn.current[0] - AT_ONCE, end));
  const to = Math.min(end, Math.max(drawn.current[1], from) + AT_ONCE);
  useEffect(() => {
    drawn.current = [from, to];
    if (from === first && to === end) return;
    const frame = requestAnimationFrame(() => redraw((count) => count + 1));
    return () => cancelAnimationFrame(frame);
  });
  return [from, to];
}

interface Around extends Pick<Props, "sent" | "folds" | "link" | "emit"> {
  /** The key of the item that more may be added to: the newest of a running turn. */
  growing: string | null;
}

function draw(entry: Entry, { sent, folds, link, growing, emit }: Around) {
  const live = link === "live";
  if (entry.type === "group")
    return (
      <GroupView
        key={entry.key}
        name={entry.key}
        tools={entry.tools}
        folds={folds}
        live={live}
        emit={emit}
      />
    );
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
      live={live}
      emit={emit}
    />
  );
}
