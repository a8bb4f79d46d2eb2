// A change of a file: unified, or old and new side by side where there is room for it.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { inFrame } from "../frame_schedule";
import { placed, visible } from "../text/visible";
import type { Content } from "../types";
import { useDrawn } from "./exact_text";
import { memo } from "./memo";
import { usePanel } from "./panel";
import { Path } from "./path";
import { changedCells } from "./locations";
import { colouring, firstColours, lacks, languageOfFile } from "./diff_colours";
import { split as splitByColour } from "./diff_colours";
import type { Colours, Span } from "./diff_colours";
import { changeOf, pairsOf, withoutLongGaps } from "./diff_rows";
import type { Change, Gap, Line, Note, Pair, Piece, Row } from "./diff_rows";
import { LINE_CHARS } from "./display_text";

type Diff = Extract<Content, { type: "diff" }>;

/** The fold that keeps whether diffs are shown side by side: the reader chooses for all of the session. */
export const SPLIT_FOLD = "diffs:split";

/** Rows shown at first: more than most changes have, and quick to draw. */
export const FIRST_ROWS = 60;
/** The browser skips blocks of so many rows while they are out of sight. A small number: while the reader scrolls, it
    lays out whole blocks. */
const BLOCK_ROWS = 25;

/** A change of more text than this takes several milliseconds to compare, and gets frames of its own. */
const BIG_CHARS = 100_000;

/** The change; null while it is being compared. */
function useChange(before: string, after: string): Change | null {
  const big = before.length + after.length > BIG_CHARS;
  const small = useMemo(() => (big ? null : changeOf(before, after)), [before, after]);
  const [made, setMade] = useState<{ before: string; after: string; change: Change } | null>(null);
  useEffect(() => {
    if (!big) return;
    let stop = inFrame(() => {
      const change = changeOf(before, after);
      stop = inFrame(() => setMade({ before, after, change }));
    });
    return () => stop();
  }, [before, after]);
  return small ?? (made?.before === before && made.after === after ? made.change : null);
}

/** `named`: the card's heading names the file. */
export const DiffView = memo(function DiffView(props: { diff: Diff; named?: boolean }) {
  const { diff, named = false } = props;
  const { old_text: before, new_text: after } = diff;
  const change = useChange(before ?? "", after);
  const { split } = usePanel();
  return (
    <figure
      class="acp-diff"
      data-acp-diff={split ? "split" : "unified"}
      aria-busy={change === null}
    >
      <figcaption class="acp-diff-head">
        {!named && (
          <span class="acp-path">
            <Path path={diff.path} cells={changedCells(diff)} />
          </span>
        )}
        {kindOf(diff) && <span class="acp-badge">{kindOf(diff)}</span>}
        {change && <Counts added={change.added} removed={change.gone} />}
        <SideBySide />
      </figcaption>
      {change && <DiffRows rows={change.rows} path={diff.path} />}
    </figure>
  );
});

export function SideBySide() {
  const { split, emit } = usePanel();
  return (
    <button
      type="button"
      class="acp-link acp-wide"
      aria-pressed={split}
      onClick={() => emit({ t: "fold", key: SPLIT_FOLD, open: !split })}
    >
      Side by side
    </button>
  );
}

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

interface Rows {
  rows: readonly Row[];
  /** Of the file: its name says which language it is. */
  path: string;
  /** Part of an open question: show all of it at once, with nothing cut or invisible. */
  whole?: boolean;
}

/** The rows of a change: the first ones at once, the others on demand. */
export function DiffRows({ rows: given, path, whole: exactly = false }: Rows) {
  const [asked, setAsked] = useState(false);
  const [opened, setOpened] = useState<ReadonlySet<Gap>>(new Set());
  const { split } = usePanel();
  const rows: readonly (Row | Pair)[] = useMemo(() => {
    const all = given.flatMap((row): readonly Row[] =>
      row.kind === "gap" && opened.has(row) ? row.lines : [row],
    );
    const shown = exactly ? withoutLongGaps(all) : all;
    return split ? pairsOf(shown) : shown;
  }, [given, split, exactly, opened]);
  const whole = exactly || asked;
  const colours = useColours(given, path, whole || opened.size > 0);
  const shown = useDrawn(rows.length, whole && colours.whole, FIRST_ROWS);
  const open = useMemo(() => (gap: Gap) => setOpened((before) => new Set(before).add(gap)), []);
  return (
    <div class="acp-diff-rows" data-long={whole}>
      {rows.length === 0 && <div class="acp-quiet acp-diff-none">No differences.</div>}
      {Array.from({ length: Math.ceil(shown / BLOCK_ROWS) }, (_, at) => (
        <Block
          key={at}
          rows={rows}
          from={at * BLOCK_ROWS}
          to={Math.min(shown, (at + 1) * BLOCK_ROWS)}
          {...{ exactly, open }}
          colours={colours.colours}
        />
      ))}
      {shown < rows.length && !exactly && (
        <button type="button" class="acp-more" disabled={whole} onClick={() => setAsked(true)}>
          Show all {rows.length} lines
        </button>
      )}
    </div>
  );
}

/** The colours of the first rows; `whole`: of all of them, one side in each frame. */
function useColours(rows: readonly Row[], path: string, all: boolean) {
  const language = languageOfFile(path);
  const few = useMemo(() => firstColours(rows, language), [rows, language]);
  const wanted = all ? rows : rows.slice(0, FIRST_ROWS);
  const incomplete = useMemo(() => lacks(wanted, few, all), [rows, all, few]);
  const [full, setFull] = useState<{ few: Colours; colours: Colours } | null>(null);
  const known = full?.few === few ? full.colours : null;
  useEffect(() => {
    if (!incomplete || known) return;
    const steps = colouring(rows, language);
    const step = () => {
      const { value } = steps.next();
      if (value) setFull({ few, colours: value });
      else stop = inFrame(step);
    };
    let stop = inFrame(step);
    return () => stop();
  }, [incomplete, few]);
  return { colours: known ?? few, whole: !incomplete || known !== null };
}

function kindOf({ old_text: before, new_text: after }: Diff): string | null {
  if (before === undefined) return "new file";
  return after === "" && before !== "" ? "deleted" : null;
}

interface Drawing {
  exactly: boolean;
  colours: Colours;
  open: (gap: Gap) => void;
}

const Block = memo(function Block(
  props: { rows: readonly (Row | Pair)[]; from: number; to: number } & Drawing,
) {
  const { rows, from, to } = props;
  return (
    <div class="acp-rows">
      {rows
        .slice(from, to)
        .map((row, index) => ("kind" in row ? one(row, index, props) : sides(row, index, props)))}
    </div>
  );
});

const SIGNS: Record<Line["kind"], string> = { same: " ", gone: "-", new: "+" };

function one(row: Row, key: number, { exactly, colours, open }: Drawing) {
  if (row.kind === "note")
    return (
      <div key={key} class="acp-gap">
        {visible(row.text)}
      </div>
    );
  if (row.kind === "gap")
    return (
      <div key={key} class="acp-gap">
        <button type="button" class="acp-link" title="Show them" onClick={() => open(row)}>
          {row.lines.length} unchanged line{row.lines.length === 1 ? "" : "s"}
        </button>
      </div>
    );
  // CSS draws the numbers, so that they are not copied with the text.
  return (
    <div key={key} class="acp-row" data-kind={row.kind}>
      <span class="acp-no" data-n={row.old ?? ""} />
      <span class="acp-no" data-n={row.now ?? ""} />
      <Text line={row} {...{ exactly, colours }} />
    </div>
  );
}

function sides(
  [left, right]: Exclude<Pair, Gap | Note>,
  key: number,
  { exactly, colours }: Drawing,
) {
  return (
    <div key={key} class="acp-pair">
      <Side line={left} number={left?.old} {...{ exactly, colours }} />
      <Side line={right} number={right?.now} {...{ exactly, colours }} />
    </div>
  );
}

interface SideProps extends Omit<Drawing, "open"> {
  line: Line | null;
  number: number | undefined;
}

function Side({ line, number, exactly, colours }: SideProps) {
  return (
    <div class="acp-row" data-kind={line?.kind ?? "none"}>
      <span class="acp-no" data-n={number ?? ""} />
      {line && <Text line={line} {...{ exactly, colours }} />}
    </div>
  );
}

function Text({ line, exactly, colours }: { line: Line } & Omit<Drawing, "open">) {
  const { pieces } = line;
  const spans = colours.get(line) ?? [];
  let from = 0;
  return (
    <span class="acp-line">
      {SIGNS[line.kind]}
      {pieces.map((piece, at) => {
        const [first, last] = [at === 0, at === pieces.length - 1];
        const text = exactly
          ? exactPiece(piece, first, last, from, spans)
          : short(piece, from, spans);
        from += piece.text.length;
        return piece.marked ? <mark key={at}>{text}</mark> : text;
      })}
      {"\n"}
    </span>
  );
}

/** Colours are put on what is drawn anyway: they change nothing about what is visible. */
function exactPiece(
  piece: Piece,
  first: boolean,
  last: boolean,
  from: number,
  spans: readonly Span[],
) {
  const parts = piece.marker
    ? [{ text: piece.text, marker: true, at: 0 }]
    : placed(piece.text, first, last);
  return parts.map(({ text, marker, at }, key) =>
    marker ? (
      <span key={key} class="acp-marker">
        {text}
      </span>
    ) : (
      coloured(text, from + at, spans, (it) => it)
    ),
  );
}

function short({ text }: Piece, from: number, spans: readonly Span[]) {
  if (text.length <= LINE_CHARS) return coloured(text, from, spans, visible);
  return visible(`${text.slice(0, LINE_CHARS)}… ${text.length - LINE_CHARS} more characters`);
}

function coloured(
  text: string,
  from: number,
  spans: readonly Span[],
  show: (text: string) => string,
): ComponentChildren {
  if (spans.length === 0) return show(text);
  return splitByColour(text, from, spans).map(([it, style], key) =>
    style === "" ? (
      show(it)
    ) : (
      <span key={key} class={style}>
        {show(it)}
      </span>
    ),
  );
}
