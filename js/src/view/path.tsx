// A path as people read it: relative to the folder that the session works in. Where the host can open the
// file it is a link (to a cell, where the file is the open notebook); elsewhere it can be copied.

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { copyText, Host } from "./code";
import { Icon } from "./icons";
import { absolute, served, ServerPaths } from "./places";
import type { FileHost } from "./places";
import { line } from "./words";

/** The session's folder; empty as long as it is not known. */
export const Folder = createContext("");

/** How long a path says what became of a click on it. */
const FEEDBACK_MS = 4000;

export function relative(path: string, folder: string): string {
  const inside = folder !== "" && path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
  return line(inside ? path.slice(folder.length).replace(/^\/+/, "") : path);
}

interface Props {
  path: string;
  /** The line in it. */
  at?: number | undefined;
  /** Which cell is meant, if the path is the open notebook's: see `cellsOf`. */
  cells?: readonly string[];
  /** The line to open it at, where that is not shown. */
  to?: number | undefined;
  /** It is not there now. */
  gone?: boolean;
  /** Only a small drawing to click: the path itself stands beside it, as a text. */
  small?: boolean;
}

/** A path within something that is clicked itself. */
export function PathText({ path, at }: Pick<Props, "path" | "at">) {
  const shown = useRelative(path);
  return <span title={line(path)}>{at === undefined ? shown : `${shown}:${at}`}</span>;
}

/** A path as it is called in the session's folder. */
export function useRelative(path: string): string {
  return relative(path, useContext(Folder));
}

export function Path({ path, at, to = at, cells = [], gone = false, small = false }: Props) {
  const folder = useContext(Folder);
  const { files } = useContext(Host);
  const prefixes = useContext(ServerPaths);
  const name = relative(path, folder);
  const shown = at === undefined ? name : `${name}:${at}`;
  const place = prefixes && served(absolute(path, folder), prefixes);
  if (files && place && !gone)
    return <FileLink {...{ path, shown, place, at: to, cells, files, small }} />;
  const why =
    files && prefixes && place === null
      ? "\nOutside of what the Jupyter server serves: it cannot be opened here"
      : "";
  return (
    <span class="acp-file">
      {!small && <span title={`${line(path)}${why}`}>{shown}</span>}
      <CopyPath path={path} why={why} />
    </span>
  );
}

/** A few words about a cell, which go to it where its notebook is the open one. */
export function CellLink(props: { path: string; cells: readonly string[]; text: string }) {
  const { path, cells, text } = props;
  const folder = useContext(Folder);
  const { files } = useContext(Host);
  const prefixes = useContext(ServerPaths);
  const place = prefixes && served(absolute(path, folder), prefixes);
  if (!files || !place || place !== files.notebook() || cells.length === 0)
    return <span class="acp-quiet">{text}</span>;
  return (
    <button
      type="button"
      class="acp-link"
      title="Show it in this notebook"
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
  const [told, tell] = useFeedback();
  const here = place === files.notebook();
  const go = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    event.stopPropagation(); // it stands in what opens by a click, too
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    if (here && files.show(cells, event.currentTarget)) return;
    void files.open(place, at).then((why) => tell(why ?? ""));
  };
  const what = here ? "Show it in this notebook" : "Open it";
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
      <Told text={told} />
    </span>
  );
}

function CopyPath({ path, why }: { path: string; why: string }) {
  const [told, tell] = useFeedback();
  const copy = (event: Event) => {
    event.stopPropagation();
    event.preventDefault();
    copyText(path).then(
      () => tell("Copied"),
      () => tell("Not copied"),
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
      <Told text={told} />
    </>
  );
}

function Told({ text }: { text: string }) {
  return text === "" ? null : (
    <span class="acp-file-told" role="alert">
      {text}
    </span>
  );
}

/** A few words that go away by themselves. */
function useFeedback(): readonly [string, (text: string) => void] {
  const [told, setTold] = useState("");
  const shown = useRef(true);
  useEffect(() => () => void (shown.current = false), []);
  useEffect(() => {
    if (told === "") return;
    const timer = setTimeout(() => setTold(""), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [told]);
  return [told, (text) => void (shown.current && setTold(text))];
}
