// Code: coloured when it is finished, in pieces while it grows, with buttons to copy it and, where the
// document can be reached, to make a cell of it.

import { createContext } from "preact";
import type { ComponentChild } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { MAX_CHARS, highlight } from "../text/highlight";
import type { Part } from "../text/highlight";
import { memo } from "./memo";
import type { FileHost } from "./places";

/** What the host of the panel can do with text. */
export interface TextHost {
  /** Typesets the formulas in an element. */
  typeset?: (element: HTMLElement) => void;
  /** Makes a cell below of code. */
  insert?: (source: string, language: string) => void;
  /** Opens files. */
  files?: FileHost;
  /** Runs a command in a terminal that the user sees; says why not. */
  terminal?: (command: string, from: Element) => Promise<string | null>;
  /** Shows another session's panel in an element, by its model. */
  panel?: (model: string, el: HTMLElement, signal: AbortSignal) => Promise<void>;
}

export const Host = createContext<TextHost>({});

/** How long a button says that it was done. */
const FEEDBACK_MS = 2000;

interface Props {
  pieces: readonly string[];
  language: string;
  /** Nothing comes any more: it is worth colours. */
  closed: boolean;
}

export function CodeView({ pieces, language, closed }: Props) {
  const { insert } = useContext(Host);
  const source = () => pieces.join("");
  return (
    <div class="acp-codeblock" data-acp-language={language}>
      <div class="acp-codebar">
        <span class="acp-quiet">{language}</span>
        {insert && closed && (
          <button type="button" onClick={() => insert(source(), language)}>
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

const Coloured = memo(function Coloured({ pieces, language, closed }: Props) {
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

/** A long text as boxes, of which only the last is laid out again when it grows. */
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

/** `what` completes the button's name: "Copy code". */
export function CopyButton({ text, what }: { text: () => string; what: string }) {
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
      <span role="status">{state === "" ? "" : state === "copied" ? "Copied" : "Not copied"}</span>
      {state === "" && <span aria-hidden="true">Copy</span>}
    </button>
  );
}

/** A page that is served over plain http has no clipboard: then by the old way, through a selection. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  if (!done) throw new Error("the page may not copy");
}
