// A turn: the prompt, what came of it, and a line that says how it stands, with the stop button.

import { useRef, useState } from "preact/hooks";
import type { Link, Sent } from "../store";
import { isRunning, turnId } from "../turns";
import type { Turn } from "../turns";
import type { Emit } from "../types";
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
        {entries.slice(hidden).map((entry) => draw(entry, { sent, folds, link, emit }))}
      </div>
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

type Around = Pick<Props, "sent" | "folds" | "link" | "emit">;

function draw(entry: Entry, { sent, folds, link, emit }: Around) {
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
      live={live}
      emit={emit}
    />
  );
}
