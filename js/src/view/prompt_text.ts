// The parts of a prompt that was sent: the user's words, the images that they added, and what came of @-names.
// The kernel sends them in this order (frontend/panel/composer.py). Pure.

import type { Content, Picture } from "../types";
import { TYPES } from "./images";

/** The user's words; what follows describes objects. */
export function wordsOf(prompt: readonly Content[]): string {
  const first = prompt.find((block) => block.type === "text");
  return first?.type === "text" ? first.text : "";
}

/** The images that the user added: the last blocks, but for a figure, which has its heading before it. */
export function picturesOf(prompt: readonly Content[]): readonly Picture[] {
  let from = prompt.length;
  while (prompt[from - 1]?.type === "image") from -= 1;
  const words = prompt.findIndex((block) => block.type === "text");
  const headed = prompt[from - 1]?.type === "text" && from - 1 !== words;
  return prompt.slice(headed ? from + 1 : from).flatMap((block) => {
    if (block.type !== "image" || !TYPES.has(block.mime_type)) return [];
    return [{ data: block.data, mime_type: block.mime_type }];
  });
}

/** How many blocks are neither the words nor the user's images. */
export function attachmentsOf(prompt: readonly Content[]): number {
  return prompt.length - (wordsOf(prompt) === "" ? 0 : 1) - picturesOf(prompt).length;
}
