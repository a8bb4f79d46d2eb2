// A change of a file: unified, or old and new side by side where there is room for it.

import { createContext } from "preact";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import { visible } from "../text/visible";
import type { Content } from "../types";
import { memo } from "./memo";
import { Path } from "./path";
import { changedCells } from "./places";
import { changeOf, pairsOf } from "./rows";
import type { Gap, Line, Note, Pair, Row } from "./rows";
import { LINE_CHARS } from "./words";

type Diff = Extract<Content, { type: "diff" }>;

/** Side by side or not is the reader's choice, for all diffs of the session. */
export interface Layout {
  readonly split: boolean;
  choose(split: boolean): void;
}

export const DiffLayout = createContext<Layout>({ split: false, choose: () => undefined });

/** Rows that are shown at once: more than most changes have, and quick to draw. */
export const FIRST_ROWS = 60;
/** Rows beyond the first are drawn in blocks, which the browser skips while they are out of sight. */
const BLOCK_ROWS = 100;
/** … so many in one frame. */
const FRAME_ROWS = 400;

export const DiffView = memo(function DiffView({ diff }: { diff: Diff }) {
  const { old_text: before, new_text: after } = diff;
  const change = useMemo(() => changeOf(before ?? "", after), [before, after]);
  const layout = useContext(DiffLayout);
  return (
    <figure class="acp-diff" data-acp-diff={layout.split ? "split" : "unified"}>
      <figcaption class="acp-diff-head">
        <span class="acp-path">
          <Path path={diff.path} cells={changedCells(diff)} />
        </span>
        {kindOf(diff) && <span class="acp-badge">{kindOf(diff)}</span>}
        <Counts added={change.added} removed={change.gone} />
        <button
          type="button"
          class="acp-link acp-wide"
          aria-pressed={layout.split}
          onClick={() => layout.choose(!layout.split)}
        >
          Side by side
        </button>
      </figcaption>
      <DiffRows rows={change.rows} />
    </figure>
  );
});

export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="acp-counts">
      <span class="acp-good">+{added}</span>{" "}
      <span class="acp-bad">
        <span aria-hidden="true">−</span>
        <span class="acp-hidden">minus </span>
        {removed}
      </span>
    </span>
  );
}

/** The rows of a change: the first of them at once, the others when they are asked for. */
export function DiffRows({ rows: all }: { rows: readonly Row[] }) {
  const [whole, setWhole] = useState(false);
  const { split } = useContext(DiffLayout);
  const rows: readonly (Row | Pair)[] = useMemo(() => (split ? pairsOf(all) : all), [all, split]);
  const shown = useRows(rows.length, whole);
  return (
    <div class="acp-diff-rows" data-long={whole}>
      {rows.length === 0 && <div class="acp-quiet acp-diff-none">Nothing differs.</div>}
      {Array.from({ length: Math.ceil(shown / BLOCK_ROWS) }, (_, at) => (
        <Block
          key={at}
          rows={rows}
          from={at * BLOCK_ROWS}
          to={Math.min(shown, (at + 1) * BLOCK_ROWS)}
        />
      ))}
      {shown < rows.length && (
        <button type="button" class="acp-more" disabled={whole} onClick={() => setWhole(true)}>
          Show all {rows.length} lines
        </button>
      )}
    </div>
  );
}

function kindOf({ old_text: before, new_text: after }: Diff): string | null {
  if (before === undefined) return "new file";
  return after === "" && before !== "" ? "deleted" : null;
}

const Block = memo(function Block(props: {
  rows: readonly (Row | Pair)[];
  from: number;
  to: number;
}) {
  const { rows, from, to } = props;
  return (
    <div class="acp-rows">
      {rows
        .slice(from, to)
        .map((row, index) => ("kind" in row ? one(row, index) : sides(row, index)))}
    </div>
  );
});

/** How many rows are drawn: the first ones, or all, and then a part in each frame, so that none is long. */
function useRows(count: number, whole: boolean): number {
  const [drawn, setDrawn] = useState(FIRST_ROWS);
  useEffect(() => {
    if (!whole || drawn >= count) return;
    const frame = requestAnimationFrame(() => setDrawn(drawn + FRAME_ROWS));
    return () => cancelAnimationFrame(frame);
  }, [whole, drawn, count]);
  return Math.min(drawn, count);
}

const SIGNS: Record<Line["kind"], string> = { same: " ", gone: "-", new: "+" };

function one(row: Row, key: number) {
  if (row.kind === "note")
    return (
      <div key={key} class="acp-gap">
        {visible(row.text)}
      </div>
    );
  if (row.kind === "gap")
    return (
      <div key={key} class="acp-gap">
        {row.count} equal line{row.count === 1 ? "" : "s"}
      </div>
    );
  // The numbers are drawn by the style: what is copied is the text.
  return (
    <div key={key} class="acp-row" data-kind={row.kind}>
      <span class="acp-no" data-n={row.old ?? ""} />
      <span class="acp-no" data-n={row.now ?? ""} />
      <Text line={row} />
    </div>
  );
}

function sides([left, right]: Exclude<Pair, Gap | Note>, key: number) {
  return (
    <div key={key} class="acp-pair">
      <Side line={left} number={left?.old} />
      <Side line={right} number={right?.now} />
    </div>
  );
}

function Side({ line, number }: { line: Line | null; number: number | undefined }) {
  return (
    <div class="acp-row" data-kind={line?.kind ?? "none"}>
      <span class="acp-no" data-n={number ?? ""} />
      {line && <Text line={line} />}
    </div>
  );
}

function Text({ line }: { line: Line }) {
  return (
    <span class="acp-line">
      {SIGNS[line.kind]}
      {line.pieces.map(({ text, marked }, at) =>
        marked ? <mark key={at}>{shown(text)}</mark> : shown(text),
      )}
      {"\n"}
    </span>
  );
}

function shown(text: string): string {
  const cut = text.length > LINE_CHARS;
  return visible(
    cut ? `${text.slice(0, LINE_CHARS)}… ${text.length - LINE_CHARS} more characters` : text,
  );
}
