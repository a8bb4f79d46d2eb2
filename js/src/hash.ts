// SHA-256, as core/ipynb/cell_ids.py hashes a cell's source. Not crypto.subtle: a page that is served over
// plain http does not have it, and it cannot be had without waiting.

const DIGITS = 32;

const PRIMES: readonly number[] = Array.from({ length: 312 }, (_, at) => at).filter(
  (it) =>
    it > 1 && Array.from({ length: it }, (_, at) => at).every((by) => by < 2 || it % by !== 0),
);

/** The first 32 bits of the fraction. */
const fraction = (value: number) => ((value - Math.floor(value)) * 2 ** 32) | 0;
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUNDS = PRIMES.slice(0, 64).map((prime) => fraction(Math.cbrt(prime)));

/** What an operation on a cell is based on. Half a surrogate pair counts as U+FFFD, as it is encoded. */
export function sourceHash(source: string): string {
  return sha256(new TextEncoder().encode(source)).slice(0, DIGITS);
}

export function sha256(bytes: Uint8Array): string {
  const state = Int32Array.from(START);
  const words = new Int32Array(64);
  const data = padded(bytes);
  for (let block = 0; block < data.byteLength; block += 64) {
    for (let at = 0; at < 16; at++) words[at] = data.getInt32(block + at * 4);
    digest(state, words);
  }
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function padded(bytes: Uint8Array): DataView {
  const data = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  data.set(bytes);
  data[bytes.length] = 0x80;
  const view = new DataView(data.buffer);
  view.setBigUint64(data.length - 8, BigInt(bytes.length) * 8n);
  return view;
}

const rotated = (word: number, by: number) => (word >>> by) | (word << (32 - by));

function digest(state: Int32Array, words: Int32Array): void {
  const w = (at: number) => words[at] ?? 0;
  for (let at = 16; at < 64; at++) {
    const [x, y] = [w(at - 15), w(at - 2)];
    const small = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
    words[at] = w(at - 16) + small + w(at - 7) + (rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10));
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let at = 0; at < 64; at++) {
    const big = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const one = (h + big + ((e & f) ^ (~e & g)) + (ROUNDS[at] ?? 0) + w(at)) | 0;
    const other = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + other) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, at) => (state[at] = (state[at] ?? 0) + word));
}
