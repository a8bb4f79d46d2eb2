// Renders agents' markdown as HTML, block by block. Knows neither streams nor the page. The same parser and limits
// as in core/export/markdown_html.py: raw HTML is text, a remote image becomes a link, headings rank below those
// of the notebook. `sanitise` then cleans the result.

import createParser from "markdown-it";
import type { Env, MarkdownIt, StateCore, Token } from "markdown-it";
import { autolinks } from "./autolinks";
import { languageOf } from "./fence";
import { isLink, isPicture } from "./links";
import { math } from "./math";
import { LONG_WORD, piecesOf } from "./pieces";
import { visible } from "./visible";

/** Block levels that are rendered; the parser drops deeper ones, so a deeper block is shown as it is. */
export const MAX_NESTING = 40;
/** A longer block is data, not prose, and is shown as it is. */
export const MAX_BLOCK = 100_000;
/** So is a block with more parts (thousands of list items), which would freeze the page. */
const MAX_TOKENS = 20_000;
const MAX_HTML = 600_000;
/** A message's first heading ranks directly below a notebook's title, a deeper one a level below the previous
    one, whatever level the agent gave it, so that screen readers find no level missing. */
const TOP_HEADING = 2;

export type References = NonNullable<Env["references"]>;

/** A top-level block. `key`: where it starts in the text. */
export type Block =
  | {
      readonly kind: "html";
      readonly key: number;
      readonly source: string;
      readonly html: string;
      /** The level of the last heading in it, or before it. */
      readonly heading: number;
    }
  | {
      readonly kind: "code";
      readonly key: number;
      readonly language: string;
      readonly pieces: readonly string[];
      readonly closed: boolean;
    }
  | { readonly kind: "plain"; readonly key: number; readonly pieces: readonly string[] };

const parser = made();

/** The tokens of each top-level block, and its first and last line. */
export interface Outline {
  readonly tokens: Token[];
  readonly from: number;
  readonly to: number;
}

/** Finds the blocks without parsing their contents; link definitions go to `references`. */
export function outline(source: string, references: References): Outline[] {
  const tokens: Token[] = [];
  parser.block.parse(source, parser, { references }, tokens);
  const found: Outline[] = [];
  let from = 0;
  tokens.forEach((token, at) => {
    if (token.level !== 0 || token.nesting === 1) return;
    const own = tokens.slice(from, at + 1);
    const map = own[0]?.map ?? [0, 0];
    found.push({ tokens: own, from: map[0], to: map[1] });
    from = at + 1;
  });
  return found;
}

/** The blocks of a text, or of a part that starts at `start`, after a heading of this level. */
export function parse(source: string, references: References, start = 0, after = 0): Block[] {
  const starts = lineStarts(source);
  const end = (line: number) => starts[line] ?? source.length;
  let heading = after;
  return outline(source, references).map(({ tokens, from, to }) => {
    const text = source.slice(end(from), end(to));
    const block = blockOf(tokens, text, { references, heading }, start + end(from));
    if (block.kind === "html") heading = block.heading;
    return block;
  });
}

/** The start of each line. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** What the parser's rules know about the text around a block. */
interface Around extends Env {
  heading: number;
}

function blockOf(tokens: Token[], source: string, around: Around, key: number): Block {
  const first = tokens[0];
  if (first && (first.type === "fence" || first.type === "code_block")) {
    const pieces = piecesOf(visible(first.content.replace(/\n$/, "")));
    return { kind: "code", key, language: languageOf(first.info), pieces, closed: true };
  }
  const plain = (): Block => ({ kind: "plain", key, pieces: piecesOf(source, true) });
  if (source.length > MAX_BLOCK || tokens.length > MAX_TOKENS) return plain();
  if (tokens.some(({ level }) => level >= MAX_NESTING - 1)) return plain();
  const state = new parser.core.State(source, parser, around);
  state.tokens = tokens;
  parser.core.process(state);
  const html = parser.renderer.render(state.tokens, parser.options);
  const long = LONG_WORD.test(source) && LONG_WORD.test(html.replace(/<[^>]*>/g, " "));
  return long || html.length > MAX_HTML
    ? plain()
    : { kind: "html", key, source, html, heading: around.heading };
}

function made(): MarkdownIt {
  const parser = createParser({ html: false, maxNesting: MAX_NESTING });
  parser.validateLink = (address) => isLink(address) || isPicture(address);
  autolinks(parser);
  math(parser);
  parser.core.ruler.disable(["normalize", "block"]); // blocks are found by `outline`
  parser.core.ruler.push("acp_safe", makeSafe);
  const escape = parser.utils.escapeHtml;
  const { rules } = parser.renderer;
  rules["acp_math"] = (tokens, at) => {
    const { content = "", info = "", tag = "span" } = tokens[at] ?? {};
    const style = info === "display" ? "acp-math acp-math-block" : "acp-math";
    return `<${tag} class="${style}">${escape(content)}</${tag}>`;
  };
  rules["acp_task"] = (tokens, at) => {
    const done = tokens[at]?.info === "done";
    return `<span class="acp-task" role="img" aria-label="${done ? "done" : "to do"}">${done ? "☑" : "☐"}</span> `;
  };
  rules["fence"] = rules["code_block"] = (tokens, at) => {
    const { content = "", info = "" } = tokens[at] ?? {};
    const language = languageOf(info);
    const style = language === "" ? "" : ` class="acp-lang-${escape(language)}"`;
    // HTML drops a newline right after <pre>: add one, so that it does not drop one of the code.
    return `<pre><code${style}>${escape(visible(content.replace(/\n$/, "")))}</code></pre>`;
  };
  rules["code_inline"] = (tokens, at) =>
    `<code>${escape(visible(tokens[at]?.content ?? ""))}</code>`;
  rules["table_open"] = () => '<div class="acp-table"><table>';
  rules["table_close"] = () => "</table></div>";
  return parser;
}

function makeSafe(state: StateCore): void {
  const around = state.env as Around;
  let item = false; // the next text begins a list's item
  for (const token of state.tokens) {
    if (token.type === "heading_open") {
      around.heading = Math.min(Number(token.tag.slice(1)), around.heading + 1);
      token.tag = headingTag(around);
    } else if (token.type === "heading_close") token.tag = headingTag(around);
    else if (token.type === "th_open" || token.type === "td_open") align(token);
    else if (token.type === "inline" && token.children) {
      if (item) markTask(token.children, state);
      token.children = [...safeInline(token.children, state)];
    }
    item = token.type === "list_item_open" || (item && token.type === "paragraph_open");
  }
}

function headingTag({ heading }: Around): string {
  return `h${Math.min(heading + TOP_HEADING - 1, 6)}`;
}

/** Styles are not allowed; the two that tables need become classes. */
function align(cell: Token): void {
  const side = /right|center/.exec(String(cell.attrGet("style") ?? ""))?.[0];
  cell.attrs = side === undefined ? null : [["class", `acp-${side}`]];
}

const TASK = /^\[([ xX])\]\s+/;

function markTask(children: Token[], state: StateCore): void {
  const first = children[0];
  const found = first?.type === "text" ? TASK.exec(first.content) : null;
  if (!first || !found) return;
  first.content = first.content.slice(found[0].length);
  const mark = new state.Token("acp_task", "span", 0);
  mark.info = found[1] === " " ? "open" : "done";
  children.unshift(mark);
}

/** An address that is no link leaves its text; an image that is not data becomes a link to it, since
    loading it would tell its server who reads. */
function* safeInline(tokens: readonly Token[], state: StateCore): Generator<Token> {
  const links: boolean[] = [];
  for (const token of tokens) {
    if (token.type === "link_open") {
      links.push(isLink(String(token.attrGet("href"))));
      if (links.at(-1)) yield token;
    } else if (token.type === "link_close") {
      if (links.pop()) yield token;
    } else if (token.type === "image") yield* image(token, links.length > 0, state);
    else yield token;
  }
}

function* image(token: Token, inLink: boolean, state: StateCore): Generator<Token> {
  const source = String(token.attrGet("src") ?? "");
  if (isPicture(source)) {
    yield token;
    return;
  }
  const text = new state.Token("text", "", 0);
  text.content = `image: ${token.content || source}`;
  const linked = !inLink && isLink(source);
  if (linked) {
    const link = new state.Token("link_open", "a", 1);
    link.attrSet("href", source);
    yield link;
  }
  yield text;
  if (linked) yield new state.Token("link_close", "a", -1);
}
