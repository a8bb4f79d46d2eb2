// Content blocks: text as is or as markdown, images and sounds as data, everything else by name.

import type { Content } from "../types";
import { DiffView } from "./diff";
import { Inline } from "./inline";
import { Markdown } from "./markdown";
import { Image, Sound } from "./media";
import { memo } from "./memo";
import { RunView } from "./run";
import { EmbeddedResource, ResourceLink } from "./resource";
import { code, json, line } from "./display_text";

/** How to show text: as output, as markdown, or as typed. */
interface TextMode {
  exact?: boolean;
  markdown?: boolean;
  /** The text is complete; undefined if that is not known. */
  done?: boolean | undefined;
}

/** Memoised: only the block that grows is rendered again. */
export const ContentView = memo(function ContentView(props: { block: Content } & TextMode) {
  const { block, exact, markdown, done } = props;
  switch (block.type) {
    case "text":
      if (exact) return <pre class="acp-code">{code(block.text)}</pre>;
      if (markdown) return <Markdown text={block.text} done={done} />;
      return (
        <div class="acp-text">
          <Inline text={block.text} />
        </div>
      );
    case "image":
      return <Image data={block.data} type={block.mime_type} />;
    case "audio":
      return <Sound data={block.data} type={block.mime_type} />;
    case "resource_link":
      return <ResourceLink block={block} />;
    case "resource":
      return <EmbeddedResource block={block} />;
    case "diff":
      return <DiffView diff={block} />;
    case "terminal":
      return (
        <div class="acp-named">
          <span class="acp-quiet">terminal</span> {line(block.terminal_id)}
        </div>
      );
    case "run":
      return <RunView run={block} />;
    case "unknown":
      return <pre class="acp-code">{json(block.raw)}</pre>;
    default:
      return <pre class="acp-code">{json(block satisfies never)}</pre>;
  }
});

export function ContentList(props: { blocks: readonly Content[] } & TextMode) {
  const { blocks, exact = false, markdown = false, done } = props;
  return (
    <>
      {blocks.map((block, at) => (
        // Only the last one grows.
        <ContentView
          key={at}
          {...{ block, exact, markdown }}
          done={at < blocks.length - 1 ? true : done}
        />
      ))}
    </>
  );
}
