// A checksum of a cell's source: whether an operation is based on the text that is there now. It detects
// a change, and protects against nobody. The same as `source_hash` in core/ipynb/cell_ids.py.

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++)
    remainder = remainder & 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1;
  return remainder;
});

/** Length and CRC-32 of the UTF-8 bytes; a lone surrogate is encoded as U+FFFD. */
export function sourceHash(source: string): string {
  const bytes = new TextEncoder().encode(source);
  let crc = -1;
  for (const byte of bytes) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] ?? 0);
  return `${bytes.length}-${(~crc >>> 0).toString(16).padStart(8, "0")}`;
}
