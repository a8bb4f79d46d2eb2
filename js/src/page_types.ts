// The page's types besides the kernel's records (types.ts): the state, patches, and what stays in the browser.

import type {
  DetailsMessage,
  ElicitIntent,
  ExportIntent,
  Header,
  HelloIntent,
  Item,
  Looking,
  OperationIntent,
  Picking,
  Picture,
  PlacesMessage,
  Progress,
  SettingsIntent,
  SigningIn,
  TableRow,
  TabsIntent,
  ToKernel,
  UndoIntent,
} from "./types";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export type Fields = { [name: string]: Json };

/** The audience of content (`user`, `assistant`), its priority (0 to 1), and its date. */
export interface Annotations {
  audience?: string[];
  priority?: number;
  lastModified?: string;
}

export interface State {
  readonly session: Header;
  readonly items: readonly Item[];
}

// ---- patches

export type Path = readonly (string | number)[];

export type WirePatch =
  | readonly ["add", Item | Header]
  | readonly ["append", string, Path, string | Json[]]
  | readonly ["set", string, Path, Json]
  | readonly ["remove", string];

// ---- parts of messages

/** An output in the file: data by MIME type. */
export type Bundle = { readonly [mime: string]: Json };

/** Path prefixes on the kernel's machine and the server's paths for them, the longest first. */
export type Prefixes = PlacesMessage["prefixes"];

/** What a user can do; views emit these. */
export type Intent = Exclude<
  ToKernel,
  | { t: "hello" | "bye" | "ack" | "resync" | "doc" | "settings" | "export" | "tabs" }
  | Looking
  | Picking
  | SigningIn
>;

export type Host = HelloIntent["host"];

export type ElicitAction = ElicitIntent["action"];

/** The values of a form, by field. */
export type FormValues = NonNullable<ElicitIntent["values"]>;

/** Selects changes: a hunk, a file, or a whole turn; without a turn, the whole session. */
export type OfChanges = Omit<UndoIntent, "t">;

// ---- what stays in the browser

/** A prompt that is being written. */
export interface Draft {
  readonly text: string;
  readonly images: readonly Picture[];
  /** Set while the prompt of an earlier turn is edited. */
  readonly editing?: Editing | null;
}

export interface Editing {
  /** The turn's key, and its number for people. */
  readonly turn: string;
  readonly number: number;
  /** The earlier prompt had attachments that its text does not mention. */
  readonly partial: boolean;
  /** What was in the field before; it comes back. */
  readonly kept: Draft;
}

/** What stays in the browser. */
export type LocalIntent =
  { t: "fold"; key: string; open: boolean } | { t: "draft"; draft: Draft } | { t: "dismiss" };

export type Emit = (
  intent:
    | Intent
    | LocalIntent
    | Looking
    | ExportIntent
    | SettingsIntent
    | TabsIntent
    | Picking
    | SigningIn,
) => void;

/** For the end of a switch over a tagged union: the compiler proves that it is not reached. */
export function never(value: never): never {
  throw new Error(`not expected: ${JSON.stringify(value)}`);
}

/** A widget that the kernel displayed in a cell. */
export interface Place {
  readonly model: string;
  readonly cell: string;
  readonly turn: string | null;
}

/** The table of a fan-out, as a page has it. */
export interface RunsSnapshot {
  readonly rows: readonly TableRow[];
  readonly progress: Progress | null;
  /** What open rows show, by run. */
  readonly details: ReadonlyMap<number, DetailsMessage>;
  /** Runs whose changes are being applied (null), undone, redone or kept, and why that failed. */
  readonly applying: ReadonlyMap<number, OperationIntent | null>;
  readonly refused: ReadonlyMap<number, string>;
  /** When each active run began, in milliseconds of this page's clock: its time goes on from there. */
  readonly since: ReadonlyMap<number, number>;
  readonly link: "waiting" | "live" | "offline" | "gone";
}
