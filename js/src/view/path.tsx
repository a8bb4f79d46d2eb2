// A path as people read it: relative to the folder that the session works in.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { line } from "./words";

/** The session's folder; empty as long as it is not known. */
export const Folder = createContext("");

export function relative(path: string, folder: string): string {
  const inside = folder !== "" && path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
  return line(inside ? path.slice(folder.length).replace(/^\/+/, "") : path);
}

export function Path({ path, at }: { path: string; at?: number | undefined }) {
  const shown = relative(path, useContext(Folder));
  return <span title={line(path)}>{at === undefined ? shown : `${shown}:${at}`}</span>;
}
