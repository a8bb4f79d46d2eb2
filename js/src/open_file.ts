// Opens files in the host and shows cells of the open notebook, without a host extension. JupyterLab opens tabs
// with its handler for links in outputs, which supports line numbers; Notebook 7 uses a browser tab per file.
// Other hosts offer neither. All paths are the server's.
//
// Never call Notebook's own handler for the notebook itself: it closes what is open.

import type { LiveContext } from "./live";
import { cellNodes, reveal } from "./reveal_cell";
import type { Host } from "./types";

export interface Opening {
  /** The open notebook. */
  notebook(): string;
  /** The URL of the page that shows a file. */
  address(path: string): string;
  /** Opens it; returns the reason if it cannot. */
  open(path: string, line?: number): Promise<string | null>;
  /** Shows the first of these cells that is there (by its id; "#3" or "cell-3" by its place, from 0 on), else the top. */
  show(cells: readonly string[], from: Element): boolean;
  /** Opens a small file in a tab, without a click of the user; undefined where the host has no such tabs. */
  follow?(path: string, line?: number): Promise<void>;
}

/** What we use of the host, beyond the document. */
interface OpeningContext extends LiveContext {
  readonly _manager?: LiveContext["_manager"] & {
    readonly serverSettings?: { readonly baseUrl?: string };
  };
}

type HandleLink = (node: HTMLElement, path: string, fragment: string) => void;

interface Manager {
  readonly rendermime?: { readonly linkHandler?: { handleLink?: HandleLink } | null };
}

export function openingOf(
  manager: unknown,
  context: LiveContext | null,
  host: Host,
): Opening | null {
  const { _manager } = (context ?? {}) as OpeningContext;
  const base = _manager?.serverSettings?.baseUrl;
  if (!context || !base || host === "other") return null;
  const handler = (manager as Manager | null)?.rendermime?.linkHandler;
  const inTab = host === "jupyterlab" && typeof handler?.handleLink === "function";
  const full = (path: string) => driveOf(context.path) + path;
  const address = (path: string) =>
    `${base.replace(/\/$/, "")}/${pageOf(host, path)}/${encoded(full(path))}`;

  const infoOf = async (path: string) =>
    (await _manager?.contents?.get(full(path), { content: false })) as Info;
  const openTab = (path: string, line: number | undefined) => {
    // The handler attaches a click listener to the node.
    const node = document.createElement("a");
    handler?.handleLink?.(node, full(path), fragmentOf(path, line));
    node.click();
  };
  const follow = async (path: string, line?: number) => {
    const info = await infoOf(path).catch(() => undefined); // deleted meanwhile
    if (info?.type === "file" && (info.size ?? Infinity) <= FOLLOWED_BYTES) openTab(path, line);
  };

  return {
    notebook: () => context.path.slice(driveOf(context.path).length),
    address,
    async open(path, line) {
      let type: unknown;
      try {
        type = (await infoOf(path))?.type;
      } catch {
        return "The server cannot find this file: it was deleted, or it is hidden";
      }
      if (!inTab || type === "directory")
        return window.open(address(path), "_blank") ? null : "The browser blocked the new tab";
      openTab(path, line);
      return null;
    },
    show(cells, from) {
      const ids =
        context.model.sharedModel?.cells.map((cell) => cell.getId?.() ?? cell.id ?? "") ?? [];
      return reveal(cellNodes(from), Math.max(0, indexOf(cells, ids)));
    },
    ...(inTab ? { follow } : {}),
  };
}

type Info = { readonly type?: unknown; readonly size?: number | null } | undefined;

/** Larger files are not opened without a click; nor are notebooks, which would start a kernel. */
const FOLLOWED_BYTES = 2_000_000;

/** JupyterLab names a drive before the path, where there are several. */
function driveOf(path: string): string {
  return /^[^/:]+:/.exec(path)?.[0] ?? "";
}

function encoded(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

function pageOf(host: Host, path: string): string {
  if (host === "jupyterlab") return "lab/tree";
  return path.endsWith(".ipynb") ? "notebooks" : "edit";
}

/** As the host's viewers understand it; lines of agents begin with 1. */
function fragmentOf(path: string, line: number | undefined): string {
  if (line === undefined || /\.ipynb$/i.test(path)) return "";
  if (/\.[ct]sv$/i.test(path)) return `#row=${line}`;
  return `#line=${Math.max(0, line - 1)}`;
}

/** Of the first name that is a cell's; -1: none is. */
export function indexOf(names: readonly string[], ids: readonly string[]): number {
  for (const name of names) if (ids.includes(name)) return ids.indexOf(name);
  for (const name of names) {
    const at = Number(/^(?:cell-|#)(\d{1,6})$/.exec(name)?.[1] ?? -1);
    if (at >= 0 && at < ids.length) return at;
  }
  return -1;
}
