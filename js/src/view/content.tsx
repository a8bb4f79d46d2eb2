// Content blocks: text as it is or as markdown, images as data, everything else by its name.

import type { Content } from "../types";
import { DiffView } from "./diff";
import { Markdown } from "./markdown";
import { code, json, line } from "./words";

/** Types that a browser draws and that cannot carry script (SVG can). */
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const BASE64 = /^[A-Za-z0-9+/=\s]*$/;

/** How text is meant: as output, as prose in markdown, or as it was typed. */
interface Meant {
  exact?: boolean;
  markdown?: boolean;
}

export function ContentView({ block, exact, markdown }: { block: Content } & Meant) {
  switch (block.type) {
    case "text":
      if (exact) return <pre class="acp-code">{code(block.text)}</pre>;
      if (markdown) return <Markdown text={block.text} />;
      return <div class="acp-text">{block.text}</div>;
    case "image":
      return <Image data={block.data} type={block.mime_type} />;
    case "audio":
      return <Named what="audio" name={block.mime_type} />;
    case "resource_link":
      return <Named what="resource" name={block.title ?? block.name} detail={block.uri} />;
    case "resource":
      return (
        <div>
          <Named what="resource" name={block.uri} />
          {block.text !== undefined && <pre class="acp-code">{code(block.text)}</pre>}
        </div>
      );
    case "diff":
      return <DiffView diff={block} />;
    case "terminal":
      return <Named what="terminal" name={block.terminal_id} />;
    case "unknown":
      return <pre class="acp-code">{json(block.raw)}</pre>;
    default:
      return <pre class="acp-code">{json(block satisfies never)}</pre>;
  }
}

export function ContentList(props: { blocks: readonly Content[] } & Meant) {
  const { blocks, exact = false, markdown = false } = props;
  return (
    <>
      {blocks.map((block, at) => (
        <ContentView key={at} block={block} exact={exact} markdown={markdown} />
      ))}
    </>
  );
}

function Image({ data, type }: { data: string; type: string }) {
  if (!IMAGES.has(type) || !BASE64.test(data)) return <Named what="image" name={type} />;
  return <img class="acp-image" src={`data:${type};base64,${data}`} alt="Image from the agent" />;
}

function Named({ what, name, detail }: { what: string; name: string; detail?: string }) {
  return (
    <div class="acp-named">
      <span class="acp-quiet">{what}</span> {line(name)}
      {detail !== undefined && <span class="acp-quiet"> {line(detail)}</span>}
    </div>
  );
}
