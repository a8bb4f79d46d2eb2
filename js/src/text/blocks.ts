// Growing markdown: finished top-level blocks are parsed once and keep their identity; only the unfinished rest
// is parsed again. Knows neither the page nor a clock: times are arguments.
//
// The rules:
// - A block is finished when complete lines have started another one after it, and nothing in the lines
//   directly before that could still include both (a formula, a link definition).
// - A fence is read line by line; the closing line finishes it.
// - An unfinished rest over 8 kB is shown as it is, and parsed at most twice a second.
// - `settle` parses the rest, and rebuilds blocks whose links were defined after their use.
// After `settle` the blocks are those of the whole text, however it was split into chunks.

import { OpenFence, closes, languageOf, opening } from "./fence";
import { lineStarts, outline, parse } from "./parser";
import type { Block, Outline, References } from "./parser";
import { Pieces } from "./pieces";
import { prose, visible } from "./visible";

/** A longer unfinished block is not parsed in every frame. */
export const LONG = 8192;
/** The interval of parsing a long rest. A very long one is parsed less often, so that parsing takes a small
    share of the time. */
export const LOOK_MS = 500;
const LOOK_CHARS = 128 * 1024;
/** Blocks per group: a page compares groups, and blocks only within the last group. */
export const GROUP = 32;

/** Lines that may start something that spans other blocks: formulas, link definitions. */
const REACHES = /^ {0,3}(?:\$\$|\\?\[)/;

/** The blocks of a text, updated with the whole text each time. */
export class Blocks {
  #text = "";
  #stream = new Stream();

  get groups(): readonly (readonly Block[])[] {
    return this.#stream.groups;
  }

  /** Whether there is nothing left for `settle` to do. */
  get settled(): boolean {
    return this.#stream.settled;
  }

  /** A text that does not continue the previous one starts over. */
  update(text: string, now: number): void {
    // Not startsWith: that compares ten times as slowly.
    if (text.slice(0, this.#text.length) !== this.#text) {
      this.#stream = new Stream();
      this.#text = "";
    }
    const more = text.slice(this.#text.length);
    this.#text = text;
    if (more !== "") this.#stream.append(more, now);
  }

  settle(): void {
    this.#stream.settle();
  }
}

/** The blocks of a text that arrives in chunks; the cost of a chunk does not depend on the text before it. */
export class Stream {
  readonly #done = new Done();
  #open: readonly Block[] = [];
  /** The unfinished rest, and where it starts in the text. */
  #rest = "";
  #start = 0;
  #afterReturn = false;
  #references = Object.create(null) as References;
  #lookedAt = -Infinity;
  #plain: Pieces | null = null;
  #fence: { reader: OpenFence; language: string } | null = null;
  #settled = true;

  get settled(): boolean {
    return this.#settled;
  }

  /** All but the last are the same objects as before. */
  get groups(): readonly (readonly Block[])[] {
    return this.#done.groupsWith(this.#open);
  }

  append(more: string, now: number): void {
    const chunk = this.#normal(more);
    this.#settled = false;
    this.#rest += chunk;
    if (!this.#fence) {
      this.#plain?.append(chunk);
      this.#proceed(now, chunk.includes("\n"), false);
    } else if (this.#fence.reader.append(visible(chunk))) {
      this.#fence = null;
      this.#proceed(now, true, true);
    } else this.#showFence(this.#fence);
  }

  /** Call it when the text is complete, or has not grown for a while. */
  settle(): void {
    if (this.#settled) return;
    this.#finish();
    this.#settled = true;
    this.#fence = this.#plain = null;
    this.#lookedAt = -Infinity;
    const references = this.#below();
    this.#setOpen(parse(this.#rest, references, this.#start, this.#done.heading));
    this.#done.define(references, Object.keys(references).length > 0);
  }

  /** Normalises line ends, even if split between chunks, and makes control characters visible. */
  #normal(text: string): string {
    const begin = this.#afterReturn && text.startsWith("\n") ? 1 : 0;
    this.#afterReturn = text.endsWith("\r");
    return prose(text.slice(begin).replace(/\r\n?/g, "\n"));
  }

  /** Definitions found now may change as long as the rest does. */
  #below(): References {
    return Object.create(this.#references) as References;
  }

  #proceed(now: number, lines: boolean, closed: boolean): void {
    const long = this.#rest.length > LONG;
    const pause = LOOK_MS * Math.ceil(this.#rest.length / LOOK_CHARS);
    if (closed || (long ? now - this.#lookedAt >= pause : lines)) {
      if (long) this.#lookedAt = now;
      this.#finish();
    }
    if (this.#fence) this.#showFence(this.#fence);
    else if (this.#rest.length > LONG) this.#showPlain();
    else {
      this.#plain = null;
      this.#setOpen(parse(this.#rest, this.#below(), this.#start, this.#done.heading));
    }
  }

  #showFence({ reader, language }: { reader: OpenFence; language: string }): void {
    const pieces = reader.pieces.all;
    this.#open = [{ kind: "code", key: this.#start, language, pieces, closed: false }];
  }

  #showPlain(): void {
    if (!this.#plain) {
      this.#plain = new Pieces(true);
      this.#plain.append(this.#rest);
    }
    this.#open = [{ kind: "plain", key: this.#start, pieces: this.#plain.all }];
  }

  #setOpen(blocks: readonly Block[]): void {
    this.#open = kept(blocks, this.#open);
  }

  /** Move finished blocks from the rest to the settled ones. */
  #finish(): void {
    const complete = this.#rest.slice(0, this.#rest.lastIndexOf("\n") + 1);
    const found = outline(complete, this.#below());
    const last = found.at(-1);
    if (!last) return;
    const starts = lineStarts(complete);
    const line = (at: number) => complete.slice(starts[at], (starts[at + 1] ?? 0) - 1);
    const end = finished(found, line);
    const size = starts[end] ?? 0;
    if (size > 0) {
      const text = complete.slice(0, size);
      const blocks = parse(text, this.#references, this.#start, this.#done.heading);
      this.#done.add(kept(blocks, this.#open), this.#references);
      this.#rest = this.#rest.slice(size);
      this.#start += size;
      this.#plain = null;
    }
    const fence = end === last.from && isFence(last) ? opening(line(end)) : null;
    if (!fence) return;
    const reader = new OpenFence(fence);
    reader.append(visible(this.#rest.slice((starts[end + 1] ?? 0) - size)));
    this.#fence = { reader, language: languageOf(fence.info) };
  }
}

/** Finished blocks, which only change if a link is defined after its use. */
class Done {
  readonly #blocks: Block[] = [];
  readonly #groups: (readonly Block[])[] = [];
  /** How many links were defined when the block was created. */
  readonly #known: number[] = [];
  #defined = 0;
  #heading = 0;

  /** The level of the last heading. */
  get heading(): number {
    return this.#heading;
  }

  groupsWith(open: readonly Block[]): readonly (readonly Block[])[] {
    const groups = [...this.#groups];
    const last = [...this.#blocks.slice(groups.length * GROUP), ...open];
    for (let at = 0; at < last.length; at += GROUP) groups.push(last.slice(at, at + GROUP));
    return groups;
  }

  add(blocks: readonly Block[], references: References): void {
    if (blocks.length === 0 || this.#defined > 0 || hasAny(references))
      this.#defined = Object.keys(references).length;
    for (const block of blocks) {
      this.#blocks.push(block);
      if (block.kind === "html") this.#heading = block.heading;
      this.#known.push(this.#defined);
      if (this.#blocks.length % GROUP === 0) this.#groups.push(this.#blocks.slice(-GROUP));
    }
  }

  /** Rebuild blocks that use links defined after them; `passing`: some definitions may still change. */
  define(references: References, passing: boolean): void {
    let heading = 0;
    this.#blocks.forEach((block, at) => {
      const after = heading;
      if (block.kind === "html") heading = block.heading;
      if (block.kind !== "html" || !block.source.includes("[")) return;
      if (!passing && (this.#known[at] ?? 0) >= this.#defined) return;
      this.#known[at] = passing ? -1 : this.#defined;
      const below = Object.create(references) as References;
      const [made] = parse(block.source, below, block.key, after);
      if (made?.kind !== "html" || made.html === block.html) return;
      this.#blocks[at] = made;
      const group = Math.floor(at / GROUP);
      if (group < this.#groups.length)
        this.#groups[group] = this.#blocks.slice(group * GROUP, (group + 1) * GROUP);
    });
  }
}

function hasAny(references: References): boolean {
  for (const _ in references) return true;
  return false;
}

/** The line up to which nothing can change. */
function finished(found: readonly Outline[], line: (at: number) => string): number {
  const last = found.at(-1);
  if (!last) return 0;
  const reached = new Set<number>(); // lines right after something that may reach further
  let open = false;
  for (let at = 0; at <= last.from; at++) {
    if (open) reached.add(at);
    const text = line(at);
    open = text.trim() !== "" && (open || REACHES.test(text));
  }
  const fence = isFence(last) ? opening(line(last.from)) : null;
  const closed = fence && last.to - last.from > 1 && closes(fence, line(last.to - 1));
  if (closed && !reached.has(last.from)) return last.to;
  return found.filter(({ from }) => !reached.has(from)).at(-1)?.from ?? 0;
}

function isFence({ tokens }: Outline): boolean {
  return tokens[0]?.type === "fence";
}

/** The blocks, with equal ones replaced by the previous objects. */
function kept(blocks: readonly Block[], before: readonly Block[]): Block[] {
  const old = new Map(before.map((block) => [block.key, block]));
  return blocks.map((block) => {
    const was = old.get(block.key);
    return was && isSame(was, block) ? was : block;
  });
}

function isSame(a: Block, b: Block): boolean {
  if (a.kind === "html")
    return (
      b.kind === "html" && a.html === b.html && a.source === b.source && a.heading === b.heading
    );
  if (a.kind !== b.kind || a.pieces.length !== b.pieces.length) return false;
  if (
    a.kind === "code" &&
    b.kind === "code" &&
    (a.language !== b.language || a.closed !== b.closed)
  )
    return false;
  return a.pieces.every((piece, at) => piece === b.pieces[at]);
}
