// Copies a message or a prompt as it was written, in markdown. Appears on hover and focus.

import type { Content } from "../types";
import { CopyButton } from "./code";

export function CopyMessage({ blocks, what }: { blocks: readonly Content[]; what: string }) {
  if (sourceOf(blocks) === "") return null;
  return (
    <span class="acp-copy-message">
      <CopyButton text={() => sourceOf(blocks)} what={what} icon />
    </span>
  );
}

/** The text of a message; what it links to as links. Images and the like have no text. */
export function sourceOf(blocks: readonly Content[]): string {
  let source = "";
  for (const block of blocks) {
    if (block.type === "text") source += block.text;
    else if (block.type === "resource_link")
      source += `[${block.title ?? block.name}](${block.uri})`;
    else if (block.type === "resource") source += `[${block.uri}](${block.uri})`;
  }
  return source.trim();
}
