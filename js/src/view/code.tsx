// Code: highlighted when it is complete, in pieces while it grows, with a button to copy it and, where the
// document can be reached, one to insert it as a cell.

import type { ComponentChild } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { MAX_CHARS, highlight } from "../text/highlight";
import type { Part } from "../text/highlight";
import type { Json } from "../types";
import { copyText } from "./copy_text";
import { HostContext } from "./host";
import { Icon } from "./icons";
import { memo } from "./memo";

export { copyText };

/** How long a button shows the result. */
const FEEDBACK_MS = 2000;

interface Props {
  pieces: readonly string[];
  language: string;
  /** The code is complete, and worth highlighting. */
  closed: boolean;
}

interface BlockProps extends Props {
  /** Whether it can be inserted as a cell. */
  insertable?: boolean;
  /** What the code has put out, as a notebook's file has it: goes into the cell, too. */
  outputs?: (() => readonly Json[]) | undefined;
}

export function CodeView({ pieces, language, closed, insertable = true, outputs }: BlockProps) {
  const { insert } = useContext(HostContext);
  const source = () => pieces.join("");
  return (
    <div class="acp-codeblock" data-acp-language={language}>
      <div class="acp-codebar">
        <span class="acp-quiet">{language}</span>
        {insert && closed && insertable && (
          <button
            type="button"
            title={outputs ? "With its outputs, below this cell" : undefined}
            onClick={() => insert(source(), language, ...(outputs ? [outputs()] : []))}
          >
            Insert as cell below
          </button>
        )}
        <CopyButton text={source} what="code" />
      </div>
      <pre class="acp-code" tabIndex={0} aria-label={language ? `Code, ${language}` : "Code"}>
        <code>
          <Coloured pieces={pieces} language={language} closed={closed} />
        </code>
      </pre>
    </div>
  );
}

export const Coloured = memo(function Coloured({ pieces, language, closed }: Props) {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const parts = closed && length <= MAX_CHARS ? highlight(pieces.join(""), language) : null;
  return <>{parts ? parts.map(coloured) : <GrowingText pieces={pieces} />}</>;
});

function coloured(part: Part, at: number): ComponentChild {
  if (typeof part === "string") return part;
  return (
    <span key={at} class={part.style}>
      {part.parts.map(coloured)}
    </span>
  );
}

/** A long text as boxes; when it grows only the last one is laid out again. */
export function GrowingText({ pieces }: { pieces: readonly string[] }) {
  return (
    <>
      {pieces.map((piece, at) => (
        <Piece key={at} text={piece} />
      ))}
    </>
  );
}

const Piece = memo(function Piece({ text }: { text: string }) {
  return <span class="acp-piece">{text}</span>;
});

interface CopyProps {
  text: () => string;
  /** Completes the button's name: "Copy code". */
  what: string;
  /** Only an icon to click. */
  icon?: boolean;
}

export function CopyButton({ text, what, icon = false }: CopyProps) {
  const [state, setState] = useState<"" | "copied" | "failed">("");
  useEffect(() => {
    if (state === "") return;
    const timer = setTimeout(() => setState(""), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () =>
    copyText(text()).then(
      () => setState("copied"),
      () => setState("failed"),
    );
  return (
    <button type="button" class="acp-copy" aria-label={`Copy ${what}`} onClick={copy}>
      <span role="status">{state === "" ? "" : state === "copied" ? "Copied" : "Copy failed"}</span>
      {state === "" && (icon ? <Icon name="copy" /> : <span aria-hidden="true">Copy</span>)}
    </button>
  );
}
