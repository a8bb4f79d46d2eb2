// Compares two sequences: which runs are equal, removed or added. Knows nothing about lines, words or files.
//
// Entries that are unique on both sides and in the same order become anchors (patience diff). Between anchors it
// searches the shortest edit (Myers), in sections with a limited number of edits: the time is linear, and very
// different sequences get a diff that is a little longer than necessary.

export interface Run {
  readonly kind: "same" | "gone" | "new";
  /** Where it is in the old sequence, and in the new one: from, to. */
  readonly old: readonly [number, number];
  readonly now: readonly [number, number];
}

/** The most edits in a section; the memory is quadratic in it. */
const MOST_EDITS = 200;
/** Up to this many pairs are compared directly: searching anchors would cost more. */
const FEW_PAIRS = 64;
/** How often anchors are searched again between anchors; more gains nothing. */
const DEPTH = 6;

/** The runs in order: equal ones, and between them removed ones before added ones. */
export function compare(before: readonly string[], after: readonly string[]): Run[] {
  const numbers = new Map<string, number>();
  const number = (text: string) => {
    let known = numbers.get(text);
    if (known === undefined) numbers.set(text, (known = numbers.size));
    return known;
  };
  const old = Int32Array.from(before, number);
  const now = Int32Array.from(after, number);
  const same: Pair[] = [];
  match(old, now, [0, old.length], [0, now.length], same, DEPTH);
  return runs(same, old.length, now.length);
}

type Range = readonly [from: number, to: number];
/** The positions of an equal entry in the old and the new sequence. */
type Pair = [number, number];

function match(
  old: Int32Array,
  now: Int32Array,
  [oldFrom, oldTo]: Range,
  [nowFrom, nowTo]: Range,
  same: Pair[],
  depth: number,
): void {
  while (oldFrom < oldTo && nowFrom < nowTo && old[oldFrom] === now[nowFrom])
    same.push([oldFrom++, nowFrom++]);
  const tail: Pair[] = [];
  while (oldFrom < oldTo && nowFrom < nowTo && old[oldTo - 1] === now[nowTo - 1])
    tail.push([--oldTo, --nowTo]);
  if (oldFrom < oldTo && nowFrom < nowTo) {
    const pairs = (oldTo - oldFrom) * (nowTo - nowFrom);
    const found =
      depth > 0 && pairs > FEW_PAIRS ? anchors(old, now, [oldFrom, oldTo], [nowFrom, nowTo]) : [];
    if (pairs === 1) {
      // One line replaces another: they differ, or they would be part of the equal run before.
    } else if (found.length > 0) {
      let [fromOld, fromNow] = [oldFrom, nowFrom];
      for (const [atOld, atNow] of [...found, [oldTo, nowTo] as const]) {
        match(old, now, [fromOld, atOld], [fromNow, atNow], same, depth - 1);
        if (atOld < oldTo) same.push([atOld, atNow]);
        [fromOld, fromNow] = [atOld + 1, atNow + 1];
      }
    } else {
      for (const pair of shortest(old, now, [oldFrom, oldTo], [nowFrom, nowTo])) same.push(pair);
    }
  }
  for (const pair of tail.reverse()) same.push(pair);
}

/** The longest run of entries that occur once in each part, in the same order. */
function anchors(old: Int32Array, now: Int32Array, inOld: Range, inNow: Range): Pair[] {
  const place = once(old, inOld);
  const pairs: Pair[] = [];
  for (const [value, at] of once(now, inNow)) {
    const other = place.get(value);
    if (at >= 0 && other !== undefined && other >= 0) pairs.push([other, at]);
  }
  return rising(pairs);
}

/** The position of each value; -1 if it occurs more than once. In the order of the sequence. */
function once(values: Int32Array, [from, to]: Range): Map<number, number> {
  const places = new Map<number, number>();
  for (let at = from; at < to; at++) {
    const value = values[at] as number;
    places.set(value, places.has(value) ? -1 : at);
  }
  return places;
}

/** The longest run of pairs with increasing old positions; the pairs are ordered by new position. */
function rising(pairs: readonly Pair[]): Pair[] {
  const ends: number[] = []; // the pair at the end of the best run of each length
  const previous: number[] = [];
  pairs.forEach(([old], index) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] as number] as Pair)[0] < old) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? (ends[low - 1] as number) : -1;
    ends[low] = index;
  });
  const row: Pair[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = previous[at] as number)
    row.push(pairs[at] as Pair);
  return row.reverse();
}

/** Myers' greedy search, in stretches: where one takes too many edits, it ends at the farthest place that
    it reached, and the next one begins there. */
function shortest(old: Int32Array, now: Int32Array, inOld: Range, inNow: Range): Pair[] {
  const same: Pair[] = [];
  let [fromOld, fromNow] = [inOld[0], inNow[0]];
  while (fromOld < inOld[1] && fromNow < inNow[1]) {
    const [a, b] = [old.subarray(fromOld, inOld[1]), now.subarray(fromNow, inNow[1])];
    const { pairs, x, y } = stretch(a, b);
    for (const [atOld, atNow] of pairs) same.push([atOld + fromOld, atNow + fromNow]);
    [fromOld, fromNow] = [fromOld + x, fromNow + y];
  }
  return same;
}

/** The equal pairs on the path as far as it got, up to the end of both if that is near enough. */
function stretch(a: Int32Array, b: Int32Array): { pairs: Pair[]; x: number; y: number } {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const trace: Int32Array[] = [];
  const reach = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const at = (diagonal: number) => reach[middle + diagonal] as number;
  for (let edits = 0; edits <= most; edits++) {
    trace.push(reach.slice(middle - edits - 1, middle + edits + 2));
    let best: Pair = [0, 0];
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const down =
        diagonal === -edits || (diagonal !== edits && at(diagonal - 1) < at(diagonal + 1));
      let x = down ? at(diagonal + 1) : at(diagonal - 1) + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++;
      reach[middle + diagonal] = x;
      const y = x - diagonal;
      if (x <= a.length && y <= b.length && x + y > best[0] + best[1]) best = [x, y];
    }
    const [x, y] = best;
    if ((x === a.length && y === b.length) || edits === most)
      return { pairs: walkBack(trace, edits, x, y), x, y };
  }
  throw new Error("not reached: the last round returns");
}

function walkBack(trace: readonly Int32Array[], edits: number, x: number, y: number): Pair[] {
  const same: Pair[] = [];
  for (let left = edits; left >= 0; left--) {
    const reach = trace[left] as Int32Array;
    const at = (diagonal: number) => reach[diagonal + left + 1] as number;
    const diagonal = x - y;
    const down = diagonal === -left || (diagonal !== left && at(diagonal - 1) < at(diagonal + 1));
    const from = down ? diagonal + 1 : diagonal - 1;
    const fromX = left === 0 ? 0 : at(from);
    const fromY = left === 0 ? 0 : fromX - from;
    while (x > fromX && y > fromY) same.push([--x, --y]);
    [x, y] = [fromX, fromY];
  }
  return same.reverse();
}

function runs(same: readonly Pair[], oldLength: number, nowLength: number): Run[] {
  const made: Run[] = [];
  let [old, now] = [0, 0];
  const differ = (toOld: number, toNow: number) => {
    if (toOld > old) made.push({ kind: "gone", old: [old, toOld], now: [now, now] });
    if (toNow > now) made.push({ kind: "new", old: [toOld, toOld], now: [now, toNow] });
    [old, now] = [toOld, toNow];
  };
  for (let at = 0; at < same.length;) {
    const [atOld, atNow] = same[at] as Pair;
    differ(atOld, atNow);
    let length = 0;
    while (same[at + length]?.[0] === atOld + length && same[at + length]?.[1] === atNow + length)
      length++;
    made.push({ kind: "same", old: [old, old + length], now: [now, now + length] });
    [old, now] = [old + length, now + length];
    at += length;
  }
  differ(oldLength, nowLength);
  return made;
}
