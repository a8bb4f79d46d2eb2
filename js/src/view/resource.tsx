// Resources: links and embedded ones. A web page is a link, a file is a path, an embedded text is folded code.

import { useMemo, useState } from "preact/hooks";
import { isLink } from "../text/links";
import { languageOf } from "../text/fence";
import { piecesOf } from "../text/pieces";
import { visible } from "../text/visible";
import type { Content } from "../types";
import { CodeView } from "./code";
import { dataNote } from "./media";
import { memo } from "./memo";
import { Path, PathText } from "./path";
import { line, size } from "./display_text";

type Of<T extends Content["type"]> = Extract<Content, { type: T }>;

/** A longer text is drawn when it is opened; a shorter one at once, so that find-in-page finds it. */
const DRAWN_CHARS = 20_000;

export const ResourceLink = memo(function ResourceLink({ block }: { block: Of<"resource_link"> }) {
  const { uri, name, title, description, mime_type: type, size: bytes } = block;
  const label = line(title || name) || line(uri);
  const path = filePath(uri);
  const says = path !== null && path.split("/").at(-1) === label; // the path contains the name
  const isPage = /^https?:/i.test(uri) && isLink(uri);
  const notes = [
    line(description ?? ""),
    line(type ?? ""),
    typeof bytes === "number" ? size(bytes) : "",
    isPage || path !== null || label === line(uri) ? "" : line(uri),
  ].filter((note) => note !== "");
  return (
    <div class="acp-named">
      {isPage ? (
        <a href={uri} title={line(uri)} target="_blank" rel="noopener noreferrer">
          {label}
        </a>
      ) : (
        !says && <span>{label} </span>
      )}
      {path !== null && (
        <code class="acp-path">
          <Path path={path} />
        </code>
      )}
      {notes.length > 0 && <span class="acp-quiet"> {notes.join(", ")}</span>}
    </div>
  );
});

export const EmbeddedResource = memo(function EmbeddedResource(props: { block: Of<"resource"> }) {
  const { uri, text, blob, mime_type: type } = props.block;
  const [open, setOpen] = useState(false);
  const file = filePath(uri) ?? uri;
  if (text === undefined)
    return (
      <div class="acp-named">
        <span class="acp-quiet">Resource</span> <Path path={file} />
        <span class="acp-quiet"> {dataNote(type, blob ?? "")}</span>
      </div>
    );
  return (
    <details
      class="acp-resource"
      open={open}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        Resource <PathText path={file} />{" "}
        <span class="acp-quiet">{size(new Blob([text]).size)}</span>
      </summary>
      {(open || text.length <= DRAWN_CHARS) && text !== "" && (
        <ResourceText text={text} language={languageFor(uri, type)} />
      )}
    </details>
  );
});

function ResourceText({ text, language }: { text: string; language: string }) {
  const pieces = useMemo(() => piecesOf(visible(text.replace(/\r\n?/g, "\n"))), [text]);
  return <CodeView pieces={pieces} language={language} closed={true} />;
}

/** Types that say nothing about the content. */
const VAGUE: ReadonlySet<string> = new Set(["plain", "octet-stream", "unknown"]);

/** "text/x-python" is python; for vague types the file extension decides. */
export function languageFor(uri: string, type: string | undefined): string {
  const kind = /^[\w.-]+\/(?:x-)?(?:[\w.-]+\+)?([\w.+-]+)/.exec(type?.trim() ?? "")?.[1] ?? "";
  if (kind !== "" && !VAGUE.has(kind)) return languageOf(kind);
  return languageOf(/\.(\w{1,12})(?:[?#].*)?$/.exec(uri)?.[1] ?? "");
}

/** The path of a file's address; null for any other address. */
export function filePath(uri: string): string | null {
  const found = /^file:(?:\/\/(?:localhost)?)?(\/(?!\/).*)$/is.exec(uri)?.[1];
  if (found === undefined) return null;
  try {
    return decodeURIComponent(found);
  } catch {
    return found; // a literal percent sign
  }
}
