// A path relative to the session's working directory. Where the host can open the file it is a link (to a cell
// if the file is the open notebook); otherwise it can be copied.

import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { copyText } from "./code";
import { HostContext } from "./host";
import { Icon } from "./icons";
import { usePanel } from "./panel";
import { absolute, relative, served } from "./locations";
import type { FileHost } from "./locations";
import { line } from "./display_text";

/** How long the result of a click is shown. */
const FEEDBACK_MS = 4000;

interface Props {
  path: string;
  /** The line in it. */
  at?: number | undefined;
  /** The cells to show if the path is the open notebook: see `cellsOf`. */
  cells?: readonly string[];
  /** The line to open it at, if not the one shown. */
  to?: number | undefined;
  /** The file does not exist now. */
  gone?: boolean;
  /** Only an icon to click: the path itself is next to it. */
  small?: boolean;
}

/** A path inside something that is clickable itself. */
export function PathText({ path, at }: Pick<Props, "path" | "at">) {
  const shown = useRelative(path);
  return <span title={line(path)}>{at === undefined ? shown : `${shown}:${at}`}</span>;
}

/** The path relative to the session's working directory. */
export function useRelative(path: string): string {
  return relative(path, usePanel().folder);
}

export function Path({ path, at, to = at, cells = [], gone = false, small = false }: Props) {
  const { folder, places } = usePanel();
  const { files } = useContext(HostContext);
  const name = relative(path, folder);
  const shown = at === undefined ? name : `${name}:${at}`;
  const place = places && served(absolute(path, folder), places);
  if (files && place && !gone)
    return <FileLink {...{ path, shown, place, at: to, cells, files, small }} />;
  const why =
    files && places && place === null
      ? "\nOutside the Jupyter server's root: it cannot be opened here"
      : "";
  return (
    <span class="acp-file">
      {!small && <span title={`${line(path)}${why}`}>{shown}</span>}
      <CopyPath path={path} why={why} />
    </span>
  );
}

/** A text about a cell; a link to the cell if its notebook is the open one. */
export function CellLink(props: { path: string; cells: readonly string[]; text: string }) {
  const { path, cells, text } = props;
  const { folder, places } = usePanel();
  const { files } = useContext(HostContext);
  const place = places && served(absolute(path, folder), places);
  if (!files || !place || place !== files.notebook() || cells.length === 0)
    return <span class="acp-quiet">{text}</span>;
  return (
    <button
      type="button"
      class="acp-link"
      title="Show in this notebook"
      onClick={({ currentTarget }) => files.show(cells, currentTarget)}
    >
      {text}
    </button>
  );
}

interface LinkProps extends Required<Pick<Props, "path" | "cells" | "small">> {
  shown: string;
  place: string;
  at: number | undefined;
  files: FileHost;
}

function FileLink({ path, shown, place, at, cells, files, small }: LinkProps) {
  const [feedback, setFeedback] = useFeedback();
  const here = place === files.notebook();
  const go = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    event.stopPropagation(); // it may be inside something that a click opens
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    if (here && files.show(cells, event.currentTarget)) return;
    void files.open(place, at).then((why) => setFeedback(why ?? ""));
  };
  const what = here ? "Show in this notebook" : "Open";
  return (
    <span class="acp-file">
      <a
        href={files.address(place)}
        target="_blank"
        rel="noopener noreferrer"
        data-acp-open={place}
        title={`${line(path)}\n${what}`}
        aria-label={small ? `${here ? "Show" : "Open"} ${shown}` : undefined}
        onClick={go}
      >
        {small ? <Icon name="open" /> : shown}
      </a>
      <Feedback text={feedback} />
    </span>
  );
}

function CopyPath({ path, why }: { path: string; why: string }) {
  const [feedback, setFeedback] = useFeedback();
  const copy = (event: Event) => {
    event.stopPropagation();
    event.preventDefault();
    copyText(path).then(
      () => setFeedback("Copied"),
      () => setFeedback("Copy failed"),
    );
  };
  return (
    <>
      <button
        type="button"
        class="acp-copy-path"
        aria-label={`Copy path ${line(path)}`}
        title={`Copy ${line(path)}${why}`}
        onClick={copy}
      >
        <Icon name="copy" />
      </button>
      <Feedback text={feedback} />
    </>
  );
}

function Feedback({ text }: { text: string }) {
  return text === "" ? null : (
    <span class="acp-file-feedback" role="alert">
      {text}
    </span>
  );
}

/** A short text that disappears after a while. */
function useFeedback(): readonly [string, (text: string) => void] {
  const [text, setText] = useState("");
  const shown = useRef(true);
  useEffect(() => () => void (shown.current = false), []);
  useEffect(() => {
    if (text === "") return;
    const timer = setTimeout(() => setText(""), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, (next) => void (shown.current && setText(next))];
}
