// Keeps formulas ($…$, \(…\), $$…$$ and \[…\]) from being parsed as markdown. Typesets nothing; decides what the
// host may typeset.

import type { MarkdownIt, StateBlock, StateInline } from "markdown-it";

/** A longer text is data, not a formula. */
const MAX_CHARS = 4000;
const MAX_INLINE = 1000;

/** Commands with which a formula could create links, styles or attributes, or change the meaning of other
    formulas in the page. */
const FOREIGN =
  /\\(?:href|url|style|class|cssId|data|require|csname|[gex]?def|let|futurelet|(?:re)?new(?:command|environment)|providecommand|Declare\w+|mmlToken|bbox|enclose|unicode|includegraphics|html\w*|texttip|mathtip|toggle|action|label|eqref|ref|begingroup|char|catcode)(?![A-Za-z])/;

/** Whether the host may typeset it; otherwise it is shown as written. */
export function isPlainMath(source: string): boolean {
  return source.length <= MAX_CHARS && !FOREIGN.test(source);
}

export function math(parser: MarkdownIt): void {
  parser.inline.ruler.before("escape", "acp_math", inlineMath);
  parser.block.ruler.before("fence", "acp_math", blockMath, {
    alt: ["paragraph", "reference", "blockquote", "list"],
  });
}

const DOLLAR = 0x24;
const BACKSLASH = 0x5c;

function inlineMath(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  const code = src.charCodeAt(pos);
  if (code !== DOLLAR && code !== BACKSLASH) return false;
  const open = code === DOLLAR ? (src[pos + 1] === "$" ? "$$" : "$") : src.slice(pos, pos + 2);
  const close = CLOSING[open];
  if (close === undefined) return false;
  const from = pos + open.length;
  const limit = Math.min(posMax, from + MAX_INLINE);
  if (!mayClose(state, close, from, limit)) return false;
  const end = closingAt(src, from, limit, close);
  if (end < 0) return false;
  const body = src.slice(from, end);
  if (body.trim() === "" || body.includes("`")) return false;
  if (open === "$" && !isFormula(body, src.charAt(pos - 1), src.charAt(end + 1))) return false;
  if (code === BACKSLASH && !SIGNS.test(body) && !(open === "\\(" && /^\s*\w\s*$/.test(body)))
    return false;
  if (!silent) {
    const token = state.push("acp_math", "span", 0);
    token.content = src.slice(pos, end + close.length);
    token.info = open === "$$" || open === "\\[" ? "display" : "";
  }
  state.pos = end + close.length;
  return true;
}

/** Characters that distinguish a formula from words in escaped brackets: "\\[not a link\\]". */
const SIGNS = /[\\^_=+*/<>{}|-]/;

/** Caches the next closing delimiters, so that a thousand opening ones do not search a thousand times. */
const next = new WeakMap<StateInline, Map<string, number>>();

function mayClose(state: StateInline, close: string, from: number, limit: number): boolean {
  const known = next.get(state) ?? new Map<string, number>();
  next.set(state, known);
  let at = known.get(close) ?? 0;
  if (at < from && at >= 0) at = state.src.indexOf(close, from);
  known.set(close, at);
  return at >= 0 && at < limit;
}

const CLOSING: Record<string, string> = { $: "$", $$: "$$", "\\(": "\\)", "\\[": "\\]" };

function closingAt(text: string, from: number, limit: number, close: string): number {
  for (let at = from; at < limit; at++) {
    if (text.startsWith(close, at)) return at;
    if (text.charCodeAt(at) === BACKSLASH) at++;
  }
  return -1;
}

/** Excludes "$5 and $6" and "$HOME:$PATH": no blank inside the delimiters, no word outside. */
function isFormula(body: string, before: string, after: string): boolean {
  if (/^\s|\s$|\\$/.test(body) || /[\w$]/.test(before) || /[\w$]/.test(after)) return false;
  const amount = /^\d[\d.,]*\s/.test(body) && !SIGNS.test(body);
  return !amount;
}

/** From a line that starts with $$ or \[ to the line that ends with its counterpart, without blank lines. */
function blockMath(state: StateBlock, start: number, end: number, silent: boolean): boolean {
  if ((state.sCount[start] ?? 0) - state.blkIndent >= 4) return false;
  const open = lineOf(state, start).slice(0, 2);
  if (open !== "$$" && open !== "\\[") return false;
  const close = open === "$$" ? "$$" : "\\]";
  for (let line = start; line < end; line++) {
    const text = lineOf(state, line);
    if (text.trim() === "") return false;
    if (line > start && (state.sCount[line] ?? 0) < state.blkIndent) return false;
    const inner = line === start ? text.slice(2) : text;
    const at = closingAt(inner, 0, inner.length, close);
    if (at < 0) continue;
    if (inner.slice(at + 2).trim() !== "" || (line === start && inner.slice(0, at).trim() === ""))
      return false;
    if (!silent) {
      const token = state.push("acp_math", "div", 0);
      token.content = state.getLines(start, line + 1, state.sCount[start] ?? 0, false).trim();
      token.info = "display";
      token.block = true;
      token.map = [start, line + 1];
    }
    state.line = line + 1;
    return true;
  }
  return false;
}

function lineOf(state: StateBlock, line: number): string {
  return state.src.slice(
    (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0),
    state.eMarks[line] ?? 0,
  );
}
