// The page's types besides the kernel's records (types.ts): the state, the messages, and what stays in the
// browser.

import type {
  CompleteIntent,
  DocOperation,
  ElicitIntent,
  Header,
  HelloIntent,
  Item,
  OperationIntent,
  Picking,
  Picture,
  SigningIn,
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

// ---- messages

/** An output in the file: data by MIME type. */
export type Bundle = { readonly [mime: string]: Json };

/** A queued prompt. */
export interface Queued {
  /** The id that its turn will have. */
  turn: string;
  text: string;
  /** How many images and other attachments it has. */
  more?: number;
  /** The text is longer than what is sent. */
  cut?: boolean;
}

/** Path prefixes on the kernel's machine and the server's paths for them, the longest first. */
export type Prefixes = readonly (readonly [string, string])[];

export type FromKernel =
  | { t: "state"; seq: number; state: State }
  | { t: "patches"; seq: number; patches: readonly WirePatch[] }
  | { t: "beat"; seq: number }
  | { t: "static"; seq: number; turn: string; bundle: Bundle }
  /** Not part of the state: queued prompts, turns that never started, and how many seconds the running one takes. */
  | { t: "now"; queue: readonly Queued[]; unsent?: readonly string[]; elapsed: number | null }
  /** An invalid answer to a form: the errors by field; "" is the form itself. */
  | { t: "invalid"; elicitation: string; errors: { readonly [name: string]: string } }
  /** For one page: its server's paths for the files here. */
  | { t: "places"; view: string; prefixes: Prefixes }
  /** Progress of an operation on changed files: `at` files `of` this many; 0: not known yet. */
  | { t: "doing"; intent: OperationIntent; at: number; of: number }
  /** The operation on changed files has ended. */
  | { t: "done"; intent: OperationIntent }
  /** `prompt`: the text that could not be sent; it goes back into the field. */
  | { t: "refused"; what: string; prompt?: string }
  | Offered
  | Picked;

/** A session that the agent has stored. */
export interface KeptSession {
  id: string;
  cwd: string;
  title?: string | null;
  updated_at?: string | null;
  /** Whether it is open in this kernel; `here`: in the panel that lists it. */
  open: boolean;
  here: boolean;
}

/** The answer to a request of the picker; `model`: the panel of the opened session. */
export interface Picked {
  t: "picked";
  rid: string;
  sessions?: readonly KeptSession[];
  cursor?: string | null;
  /** How many more sessions the agent's page had, too many for a list. */
  left_out?: number;
  model?: string;
  deleted?: string;
  error?: string;
}

/** The completions of an @-name; `rid` is the id of the request. */
export interface Offered {
  t: "offered";
  view: string;
  rid: string;
  fragment: string;
  offered: readonly { text: string; about: string }[];
}

/** What a user can do; views emit these. */
export type Intent = Exclude<
  ToKernel,
  { t: "hello" | "bye" | "ack" | "resync" | "doc" | "complete" } | Picking | SigningIn
>;

export type Host = HelloIntent["host"];

export type ElicitAction = ElicitIntent["action"];

/** The values of a form, by field. */
export type FormValues = NonNullable<ElicitIntent["values"]>;

/** Selects changes: a hunk, a file, or a whole turn; without a turn, the whole session. */
export type OfChanges = Omit<UndoIntent, "t">;

// ---- the open document

/** A cell and the hash of the source that it must still have. */
export interface CellVersion {
  id: string;
  based_on: string;
}

/** A cell and the whole source that the user allowed to run: a hash can be met by another source. */
export interface CellSource {
  id: string;
  source: string;
}

/** A request about the document to one page; `until` is by that page's clock. */
export type DocRequest = {
  t: "doc";
  view: string;
  rid: string;
  until: number | null;
} & (
  | { op: "ping" | "describe" | "locate" | "save" | "refresh" }
  /** `holds`: the hash of the file that contains these changes, which the page then treats as known. */
  | { op: "apply"; operations: readonly DocOperation[]; holds?: string | null }
  /** Execute these cells, in this order, until one fails. */
  | { op: "run"; cells: readonly CellSource[] }
  /** Show the outputs of a cell that the kernel runs without an execute_request. */
  | ({
      op: "outputs";
      outputs: Json[];
      execution_count: number | null;
      running: boolean;
    } & CellVersion)
);

// ---- what stays in the browser

/** A prompt that is being written. */
export interface Draft {
  readonly text: string;
  readonly images: readonly Picture[];
}

/** What stays in the browser. */
export type LocalIntent =
  { t: "fold"; key: string; open: boolean } | { t: "draft"; draft: Draft } | { t: "dismiss" };

export type Emit = (intent: Intent | LocalIntent | CompleteIntent | Picking | SigningIn) => void;

/** For the end of a switch over a tagged union: the compiler proves that it is not reached. */
export function never(value: never): never {
  throw new Error(`not expected: ${JSON.stringify(value)}`);
}
