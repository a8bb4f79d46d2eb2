// Images that the user pastes, drops or chooses: read, checked, and refused with a reason where they do not fit.

import type { Picture } from "../types";

/** What agents take and browsers draw without script. */
export const TYPES: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
]);
const OTHER_FILES =
  "only PNG, JPEG, GIF and WebP images can be attached here; attach a file on the kernel's machine with @";
/** In total, in base64: a server closes the connection at a message of 10 MiB. */
export const MOST_CHARS = 8_000_000;
export const MOST_IMAGES = 10;

export interface Added {
  readonly images: readonly Picture[];
  /** The files that were not added, and why. */
  readonly refused: readonly string[];
}

/** The images there are, with these files added as far as they fit. */
export async function withFiles(
  present: readonly Picture[],
  files: Iterable<File>,
): Promise<Added> {
  const images = [...present];
  const refused: string[] = [];
  for (const file of files) {
    const why = reason(file, images);
    if (why) refused.push(`${file.name || "The image"}: ${why}`);
    else images.push({ data: await base64(file), mime_type: file.type });
  }
  return { images, refused };
}

function reason(file: File, images: readonly Picture[]): string | null {
  if (!TYPES.has(file.type)) return OTHER_FILES;
  if (images.length >= MOST_IMAGES) return `at most ${MOST_IMAGES} images can be sent at once`;
  const chars = images.reduce((sum, { data }) => sum + data.length, (file.size * 4) / 3);
  return chars > MOST_CHARS ? "too large: 6 MB can be sent at once" : null;
}

/** In parts: a call cannot take as many arguments as an image has bytes. */
async function base64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 0x8000)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  return btoa(parts.join(""));
}

export function filesOf(transfer: DataTransfer | null): File[] {
  return [...(transfer?.files ?? [])].filter(({ type }) => type.startsWith("image/"));
}
