// The state as the kernel keeps it, and the messages that go to and fro. The names are those of
// core/records.py and core/transcript.py; nothing here runs.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export type Fields = { [name: string]: Json };

// ---- content

/** Whom content is for (`user`, `assistant`), how much it matters (0 to 1), and how old it is. */
export interface Annotations {
  audience?: string[];
  priority?: number;
  lastModified?: string;
}

export type Content =
  | { type: "text"; text: string; annotations?: Annotations }
  | { type: "image"; data: string; mime_type: string; uri?: string; annotations?: Annotations }
  | { type: "audio"; data: string; mime_type: string; annotations?: Annotations }
  | {
      type: "resource_link";
      annotations?: Annotations;
      uri: string;
      name: string;
      title?: string;
      description?: string;
      mime_type?: string;
      size?: number;
    }
  | {
      type: "resource";
      uri: string;
      text?: string;
      blob?: string;
      mime_type?: string;
      annotations?: Annotations;
    }
  | { type: "diff"; path: string; new_text: string; old_text?: string }
  | { type: "terminal"; terminal_id: string }
  | { type: "unknown"; raw?: Json };

export interface Location {
  path: string;
  line?: number;
  /** Of a notebook: the id of the cell that the line belongs to. */
  cell?: string;
}

export interface PlanEntry {
  content: string;
  priority: string;
  status: string;
}

export interface Option {
  id: string;
  name: string;
  kind: string;
}

/** An answer that the client adds to a question: allow it, and remember that for a scope. */
export interface Offer {
  id: string;
  name: string;
  scope: string;
}

/** What the agent would do: made by the kernel, see core/actions.py; views draw it and derive nothing. */
export type Action =
  | {
      readonly type: "command";
      /** The exact line that the shell gets. */
      readonly line: string;
      readonly cwd: string;
      /** Every variable that counts. */
      readonly env?: readonly (readonly [string, string])[];
    }
  | Write
  | NotebookWrite
  /** "edit": a file is named, but not what it would hold; an allow covers nothing of it. */
  | {
      readonly type: "read" | "delete" | "move" | "edit";
      readonly path: string;
      readonly target?: string;
    }
  | { readonly type: "fetch"; readonly url: string }
  /** `input`: what the agent says, as JSON. */
  | { readonly type: "other"; readonly kind: string; readonly input?: string }
  /** Which MCP server's tool the call uses; without `sure`, by its title alone. */
  | {
      readonly type: "mcp";
      readonly server: string;
      readonly tool: string;
      readonly sure?: boolean;
    }
  /** Input of the call beyond the other actions. */
  | { readonly type: "details"; readonly input: string };

interface Texts {
  readonly path: string;
  /** The real path, where it is another one. */
  readonly target?: string;
  /** Absent: there is no such file yet. */
  readonly old_text?: string;
  readonly new_text?: string;
  readonly note?: string;
}

export interface Write extends Texts {
  readonly type: "write";
  /** The texts are a part of the file. */
  readonly fragment?: boolean;
}

/** The texts are percent scripts: each cell begins with a line "# %% …". */
export interface NotebookWrite extends Texts {
  readonly type: "notebook";
  readonly metadata?: readonly MetadataChange[];
}

export interface MetadataChange {
  /** The notebook, or which cell. */
  readonly where: string;
  readonly name: string;
  readonly before?: string;
  readonly after?: string;
}

/** A button of a question. */
export interface Answer {
  readonly id: string;
  readonly name: string;
  /** allow_once, allow_session, allow_always, reject, agent_always (the agent remembers it), other */
  readonly meaning: string;
  /** The digit that chooses it. */
  readonly key?: string;
  readonly note?: string;
}

// ---- items

interface Base {
  readonly key: string;
  /** The key of the turn that the item belongs to; null before the first. */
  readonly turn: string | null;
  readonly raw?: Json[];
}

export interface TurnItem extends Base {
  readonly type: "turn";
  /** What the client calls the turn, from before it started; history that is told has none. */
  readonly id?: string;
  readonly number: number;
  readonly status: string;
  readonly prompt: readonly Content[];
  readonly cancelling?: boolean;
  readonly stop_reason?: string;
  readonly error?: string;
  readonly usage?: { readonly [name: string]: number };
  /** The limit of the user's that it went beyond. */
  readonly limit?: string;
  readonly rate_limit?: RateLimit | null;
}

/** The agent met a rate limit. `until`: when it may be tried again, in seconds since 1970. */
export interface RateLimit {
  readonly reason: string;
  readonly wait?: number;
  readonly until?: number;
  /** It is sent again then, for this time of so many; 0: it is not. */
  readonly attempt: number;
  readonly of: number;
}

export interface MessageItem extends Base {
  readonly type: "message";
  readonly role: string;
  readonly content: readonly Content[];
}

export interface ToolItem extends Base {
  readonly type: "tool";
  readonly id: string;
  readonly title: string;
  readonly kind: string;
  readonly status: string;
  readonly content: readonly Content[];
  readonly locations: readonly Location[];
  readonly raw_input?: Json;
  readonly raw_output?: Json;
  readonly name?: string;
  /** Done, or asked of the client, without a question to the user before. */
  readonly unprompted?: boolean;
  /** What the call runs. */
  readonly command?: string | null;
}

export interface PlanItem extends Base {
  readonly type: "plan";
  readonly entries?: readonly PlanEntry[];
  readonly text?: string | null;
  readonly uri?: string | null;
}

export interface QuestionItem extends Base {
  readonly type: "question";
  readonly id: string;
  /** The key of the tool call that it is about. */
  readonly tool: string | null;
  readonly options: readonly Option[];
  readonly offers?: readonly Offer[];
  /** Exactly what an allow covers; absent where nothing is described, and in transcripts of older versions.
      Settled: without texts. */
  readonly actions?: readonly Action[];
  /** The buttons, in order, while it is open; absent in transcripts of older versions. */
  readonly answers?: readonly Answer[];
  /** The name of the answer that was given. */
  readonly chosen?: string;
  readonly status: string;
  readonly answer?: string | null;
  readonly by?: string | null;
  readonly reason?: string | null;
}

/** Something to fill in: see core/forms.py. */
export interface FormField {
  readonly name: string;
  /** string, number, integer, boolean, select, multiselect, unknown */
  readonly type: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly default?: Json;
  readonly choices?: readonly Choice[];
  readonly format?: string;
  readonly pattern?: string;
  /** Of a number, of the length of a text, of the count of choices. */
  readonly least?: number;
  readonly most?: number;
  readonly secret?: boolean;
  readonly raw?: Json;
}

/** A form to fill in, or an address to open. */
export interface ElicitationItem extends Base {
  readonly type: "elicitation";
  readonly id: string;
  /** form, url */
  readonly mode: string;
  readonly message: string;
  readonly title?: string;
  readonly description?: string;
  readonly fields?: readonly FormField[];
  readonly url?: string;
  readonly host?: string;
  /** Why it can only be declined. */
  readonly problem?: string;
  /** open, accepted, declined, cancelled */
  readonly status: string;
  readonly by?: string;
  readonly reason?: string;
  /** What was filled in, without secrets. */
  readonly values?: Fields;
  readonly completed?: boolean;
}

/** A command that the client ran for the agent; tool calls show it by its id. */
export interface TerminalItem extends Base {
  readonly type: "terminal";
  readonly id: string;
  readonly command?: string;
  readonly cwd?: string;
  /** running, exited, killed */
  readonly status: string;
  /** The newest part of it; `dropped` characters before it are not here. */
  readonly output: string;
  readonly dropped?: number;
  readonly exit_code?: number;
  readonly signal?: string;
  readonly released?: boolean;
}

export interface NoticeItem extends Base {
  readonly type: "notice";
  readonly severity: string;
  readonly title: string;
  readonly description?: string;
  readonly source: string;
}

export interface CompactionItem extends Base {
  readonly type: "compaction";
  readonly status: string;
  readonly summary: readonly Content[];
  readonly error?: string;
}

/** A part of a change that can be undone by itself: some lines, or (with a title) a cell of a notebook. */
export interface Hunk {
  readonly id: string;
  readonly old_start: number;
  readonly old_count: number;
  readonly new_start: number;
  readonly new_count: number;
  /** Each with its sign in front: "-", "+" or " "; "\\" before a note on the line above. */
  readonly lines: readonly string[];
  readonly undone: boolean;
  /** The user has seen it, and it stays. */
  readonly kept?: boolean;
  readonly title?: string;
}

/** One file that a turn changed. */
export interface FileChange {
  readonly id: string;
  readonly path: string;
  /** created, modified, deleted, moved, mode (its rights only), link (a symlink) */
  readonly action: string;
  readonly moved_from?: string;
  readonly added: number;
  readonly removed: number;
  readonly binary?: boolean;
  readonly notebook?: boolean;
  readonly hunks: readonly Hunk[];
  /** applied, undone, partly (some hunks are undone), kept, conflict */
  readonly state: string;
  readonly undoable: boolean;
  /** Why it cannot be undone, or what the conflict is. */
  readonly why?: string;
  /** What is not shown of it, and why. */
  readonly note?: string;
  /** client: the agent had the client write it; agent: a tool call names it; command: it changed while one
   * ran; unknown: nothing says what changed it */
  readonly via: string;
  /** The key of the tool call that did it, or of the command that ran then. */
  readonly tool?: string;
  readonly allowed_by?: string;
}

/** Files that also changed during a turn: no tool call names them. */
export interface AlsoChanged {
  readonly files: readonly FileChange[];
  /** The command that ran when they changed; without one it is not known what changed them. */
  readonly command?: string;
  /** The key of its tool call. */
  readonly tool?: string;
}

/** The files that a turn changed, one item a turn; it changes whenever something is undone. */
export interface ChangesItem extends Base {
  readonly type: "changes";
  readonly files: readonly FileChange[];
  /** What is not covered, in plain words. */
  readonly notes: readonly string[];
  readonly also?: readonly AlsoChanged[];
}

export interface UnknownItem extends Base {
  readonly type: "unknown";
  readonly what: string;
  readonly content: Json;
}

/** An item of a type that a newer kernel may know shows as JSON: see view/item.tsx. */
export type Item =
  | TurnItem
  | MessageItem
  | ToolItem
  | PlanItem
  | QuestionItem
  | ElicitationItem
  | TerminalItem
  | NoticeItem
  | CompactionItem
  | ChangesItem
  | UnknownItem;

/** A slash command of the agent's. */
export interface Command {
  name: string;
  description: string;
  hint?: string;
}

export interface Mode {
  id: string;
  name: string;
  description?: string;
}

/** A value that a config option can take; `group` is the heading it stands under. */
export interface Choice {
  value: string;
  name: string;
  description?: string;
  group?: string;
}

export interface ConfigOption {
  id: string;
  name: string;
  /** "select" or "boolean". */
  type: string;
  value: string | boolean;
  choices: readonly Choice[];
  description?: string;
  category?: string;
}

/** How full the session's context is, and what the session has cost so far. */
export interface Usage {
  used?: number;
  size?: number;
  cost?: { amount: number; currency: string };
}

/** A way to sign in; `command` and `run` for one that is done in a terminal. */
export interface SignInMethod {
  id: string;
  name: string;
  description?: string;
  type: string;
  command?: string;
  run?: string;
}

/** The agent wants a sign-in before it goes on. */
export interface SignIn {
  methods: readonly SignInMethod[];
  trying?: string | null;
  error?: string | null;
}

export interface Header {
  readonly key: "session";
  /** starting, signed_out, idle, working, stuck, restarting, lost, dead, closed */
  readonly status?: string;
  readonly detail?: string | null;
  /** What leads on where the session is lost: "load", "new". */
  readonly ways?: readonly string[];
  readonly title?: string | null;
  readonly mode?: string | null;
  readonly modes?: readonly Mode[];
  readonly config?: readonly ConfigOption[];
  readonly commands?: readonly Command[];
  readonly usage?: Usage | null;
  readonly sign_in?: SignIn | null;
  readonly agent?: {
    name: string;
    title?: string;
    version?: string;
    cwd?: string;
    /** Of list, load, resume, fork, delete, logout. */
    offers?: readonly string[];
  };
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

/** What the file holds for an output: data by MIME type. */
export type Bundle = { readonly [mime: string]: Json };

/** A prompt that waits for the turns before it. */
export interface Queued {
  /** The id that its turn will have. */
  turn: string;
  text: string;
  /** How many pictures and other things go with the text. */
  more?: number;
  /** The text goes on beyond what is here. */
  cut?: boolean;
}

/** Beginnings of paths where the kernel runs, and what the server calls them; the longest first. */
export type Prefixes = readonly (readonly [string, string])[];

export type FromKernel =
  | { t: "state"; seq: number; state: State }
  | { t: "patches"; seq: number; patches: readonly WirePatch[] }
  | { t: "beat"; seq: number }
  | { t: "static"; seq: number; turn: string; bundle: Bundle }
  /** Beside the state: what waits, which turns never began, and for how many seconds the running one has been at it. */
  | { t: "now"; queue: readonly Queued[]; unsent?: readonly string[]; elapsed: number | null }
  /** An answer to a form that does not fit: why, by field; "" is the form itself. */
  | { t: "invalid"; elicitation: string; errors: { readonly [name: string]: string } }
  /** For one page: how its server calls the files here. */
  | { t: "places"; view: string; prefixes: Prefixes }
  /** What was asked of the changed files was taken, and is being done: `at` files `of` so many; 0: not yet known. */
  | { t: "doing"; intent: OperationIntent; at: number; of: number }
  /** … is done, as far as it went. */
  | { t: "done"; intent: OperationIntent }
  /** `prompt`: what was written and could not be sent; it goes back into the field. */
  | { t: "refused"; what: string; prompt?: string }
  | Offered
  | Picked;

/** A session that the agent keeps. */
export interface KeptSession {
  id: string;
  cwd: string;
  title?: string | null;
  updated_at?: string | null;
  /** It is open in this kernel; `here`: in the panel that lists it. */
  open: boolean;
  here: boolean;
}

/** The answer to what the picker asked; `model`: of the panel that shows what was opened. */
export interface Picked {
  t: "picked";
  rid: string;
  sessions?: readonly KeptSession[];
  cursor?: string | null;
  /** How many more the agent's page had: too many for a list. */
  left_out?: number;
  model?: string;
  deleted?: string;
  error?: string;
}

/** What an @-name that is being written can become; `rid` says for which question. */
export interface Offered {
  t: "offered";
  view: string;
  rid: string;
  fragment: string;
  offered: readonly { text: string; about: string }[];
}

export type Host = "jupyterlab" | "notebook" | "other";

/** An image that the user adds to a prompt; `data` is base64. */
export interface Picture {
  data: string;
  mime_type: string;
}

/** A prompt that is being written. */
export interface Draft {
  readonly text: string;
  readonly images: readonly Picture[];
}

/** A hunk of a file of a turn; all of a file, of a turn; without a turn, of the session. */
export interface OfChanges {
  /** The turn's id, or its item's key. */
  turn?: string;
  file?: string;
  hunk?: string;
  /** Several files of the turn, as they were listed. */
  files?: string[];
}
export type ElicitAction = "accept" | "decline" | "cancel";

/** What becomes of changes. */
export type OperationIntent = { t: "undo" | "redo" | "keep" } & OfChanges;

/** What a user's hand can do; views emit these. */
export type Intent =
  | { t: "answer"; question: string; option: string }
  | { t: "elicit"; elicitation: string; action: ElicitAction; values?: Fields }
  | { t: "cancel"; turn: string }
  | { t: "prompt"; text: string; images?: readonly Picture[] }
  | { t: "edit"; turn: string; text: string }
  | { t: "send_now"; turn: string }
  | { t: "again"; turn: string }
  | { t: "move"; turn: string; to: number }
  | { t: "mode"; mode: string }
  | { t: "config"; id: string; value: string | boolean }
  | OperationIntent
  | { t: "restart" }
  | { t: "reopen"; new: boolean };

/** What the picker asks for; the answer has the same `rid`. */
export type Picking =
  | { t: "sessions"; rid: string; cursor: string | null }
  | { t: "open"; rid: string; how: "new" | "load" | "resume" | "fork"; id?: string }
  | { t: "delete"; rid: string; id: string };

/** The header shows what becomes of these. No method: stop the one that is under way. */
export type SigningIn =
  { t: "sign_in"; method: string | null } | { t: "signed_in" } | { t: "sign_out" };

/** Asks what an @-name can become; nothing waits for the answer. The link adds which page asks. */
export interface Complete {
  t: "complete";
  rid: string;
  fragment: string;
  view?: string;
}

/** Something was missed after `have`. The link adds which page says so. */
export interface Resync {
  t: "resync";
  have: number;
  view?: string;
}

export type ToKernel =
  | Intent
  | { t: "hello"; view: string; document: boolean; host: Host; live: boolean; path: string | null }
  | DocAnswer
  | Complete
  | Picking
  | SigningIn
  | Resync
  | { t: "ack"; seq: number; view: string }
  | { t: "bye"; view: string };

// ---- the open document

/** One change of it: see core/ipynb/compare.py. */
export type DocOperation =
  | { op: "delete"; id: string; based_on: string }
  | {
      op: "insert";
      id: string;
      after: string | null;
      cell_type: string;
      source: string;
      metadata: Fields;
      attachments: Fields;
      outputs?: readonly Json[];
      execution_count?: number | null;
    }
  | { op: "move"; id: string; after: string | null; based_on: string }
  | {
      op: "replace";
      id: string;
      based_on: string;
      cell_type: string;
      source: string;
      clear_outputs: boolean;
      attachments: Fields;
      outputs?: readonly Json[];
      execution_count?: number | null;
    }
  | { op: "metadata"; id: string | null; values: Fields; removed: readonly string[] };

/** What the kernel asks of the document, of one page; `until` is by that page's clock. */
export type DocRequest = {
  t: "doc";
  view: string;
  rid: string;
  until: number | null;
} & (
  | { op: "ping" | "describe" | "locate" | "save" | "refresh" }
  /** `holds`: the hash of a file whose changes these are; the page counts it as known from then on. */
  | { op: "apply"; operations: readonly DocOperation[]; holds?: string | null }
);

/** A part of the answer, which is JSON: {result} or {error: {code, message}}. */
export interface DocAnswer {
  t: "doc";
  view: string;
  rid: string;
  text: string;
  part: number;
  of: number;
  now: number;
}

/** What stays in the browser. */
export type LocalIntent =
  { t: "fold"; key: string; open: boolean } | { t: "draft"; draft: Draft } | { t: "dismiss" };

export type Emit = (intent: Intent | LocalIntent | Complete | Picking | SigningIn) => void;

/** For the end of a switch over a tagged union: the compiler proves that it is not reached. */
export function never(value: never): never {
  throw new Error(`not expected: ${JSON.stringify(value)}`);
}
