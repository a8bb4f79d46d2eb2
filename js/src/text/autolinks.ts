// Turns bare addresses into links, only with an explicit scheme: "README.md" is a file, not a host in Moldova.
// GFM, 6.9, defines where an address ends.

import type { MarkdownIt, StateInline } from "markdown-it";

const SCHEME = /(?:^|[^a-z0-9+.-])(https?|mailto)$/i;
const ADDRESS = /:(?:\/\/)?[^\s<>"`\\|‹›\x00-\x20\x7f-\x9f]{1,2000}/y;
const COLON = 0x3a;

export function autolinks(parser: MarkdownIt): void {
  parser.inline.ruler.after("text", "acp_autolink", autolink);
}

/** The parser stops at the colon; the scheme is at the end of the text before it. */
function autolink(state: StateInline, silent: boolean): boolean {
  if (state.linkLevel > 0 || state.src.charCodeAt(state.pos) !== COLON) return false;
  const scheme = SCHEME.exec(state.pending.slice(-10))?.[1];
  if (scheme === undefined) return false;
  ADDRESS.lastIndex = state.pos;
  const rest = trimmed(ADDRESS.exec(state.src)?.[0] ?? "");
  const address = state.md.normalizeLink(scheme + rest);
  if (!/[\p{L}\p{N}]/u.test(rest) || !state.md.validateLink(address)) return false;
  if (silent) return false; // the scheme is in the text already: there is nothing to skip as one
  state.pending = state.pending.slice(0, -scheme.length);
  state.push("link_open", "a", 1).attrs = [["href", address]];
  state.push("text", "", 0).content = scheme + rest;
  state.push("link_close", "a", -1);
  state.pos += rest.length;
  return true;
}

/** Removes what belongs to the sentence: punctuation at the end, and a bracket that was opened before. */
function trimmed(address: string): string {
  for (let end = address.length; end > 0; end--) {
    const last = address.charAt(end - 1);
    if (/[?!.,:;*_~']/.test(last)) continue;
    const inside = address.slice(0, end);
    if (last === "]" || (last === ")" && count(inside, ")") > count(inside, "("))) continue;
    return inside;
  }
  return "";
}

function count(text: string, sign: string): number {
  return text.split(sign).length - 1;
}
