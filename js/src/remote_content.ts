// Whether rendering a markdown text would fetch remote content. When in doubt the answer is yes: a text with the
// answer no is rendered at once. Links do not count: they are fetched only after a click.

/** Elements that fetch something, or can hold a style that does. */
const FETCHING =
  /<\s*\/?\s*(?:img|image|picture|source|track|video|audio|iframe|frame|frameset|embed|object|applet|portal|link|style|script|base|meta|svg|use|feimage|input|body|table|thead|tbody|tr|td|th|math|form|button|bgsound|template|noscript)\b/gi;
const STYLED = /<[^>]*\bstyle\b/gi;

/** An address with a host, or something that can become one: an entity, a backslash. */
const REMOTE = /\/\/|\\|&(?:#|[a-z]+;)|\b(?:https?|ftp|wss?|data):|\burl\s*\(|@import/i;

/** Diagrams, whose source can name images. */
const DIAGRAM = /^[ \t>*+-]*(?:\d+[.)])?[ \t]*(?:`{3,}|~{3,})[ \t]*\{?mermaid/im;

/** The target of a local image: an attachment, data, a plain relative path. */
const LOCAL =
  /^\(\s*<?(?:attachment:[^\s<>()&\\]*|data:image\/(?:png|jpeg|gif|webp);base64,[a-z0-9+/=]*|(?!\/\/)[\w./%~-]*)>?(?:\s+"[^"\\&]*")?\s*\)/i;

export function fetchesRemote(markdown: string): boolean {
  const from = (pattern: RegExp) => {
    const at = markdown.search(new RegExp(pattern.source, "i"));
    return at >= 0 && REMOTE.test(markdown.slice(at));
  };
  if (from(FETCHING) || from(STYLED)) return true;
  if (DIAGRAM.test(markdown) && REMOTE.test(markdown)) return true;
  return hasRemoteImage(markdown);
}

/** Whether a heading holds an image or an element: the host's table of contents renders the headings of
    unrendered cells too. */
export function hasRichHeading(markdown: string): boolean {
  const lines = markdown.split("\n");
  return lines.some((line, at) => {
    const heads = /^[\s>*+-]*#{1,6}(?!#)|<h[1-6]/i.test(line);
    const underlined = /^[\s>]*(?:=+|-+)\s*$/.test(lines[at + 1] ?? "");
    return (heads || underlined) && /!\[|<\s*[a-z]/i.test(line);
  });
}

function hasRemoteImage(markdown: string): boolean {
  for (const found of markdown.matchAll(/!\[/g)) {
    const rest = markdown.slice(found.index);
    const end = /\](?=[([])|\]/.exec(rest);
    if (!end) continue;
    const target = rest.slice(end.index + 1);
    if (target.startsWith("(")) {
      if (!LOCAL.test(target)) return true;
    } else if (/\]:/.test(markdown)) return true; // by a link definition
  }
  return false;
}
