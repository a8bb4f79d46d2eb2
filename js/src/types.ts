// What crosses from the kernel to the page and back. Written by `python3 dev.py types` from the records in
// acp_notebook/core: change those, not this file. What has no record there is in page_types.ts.

export * from "./page_types";
import type { Annotations, Fields, Json, State, WirePatch } from "./page_types";

export interface TextContent {
  readonly type: "text";
  readonly text: string;
  readonly annotations?: Annotations;
}

export interface ImageContent {
  readonly type: "image";
  /** Base64. */
  readonly data: string;
  readonly mime_type: string;
  readonly uri?: string;
  readonly annotations?: Annotations;
}

export interface AudioContent {
  readonly type: "audio";
  /** Base64. */
  readonly data: string;
  readonly mime_type: string;
  readonly annotations?: Annotations;
}

export interface ResourceLinkContent {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mime_type?: string;
  readonly size?: number;
  readonly annotations?: Annotations;
}

/** A resource with its contents: `text`, or `blob` (base64). */
export interface ResourceContent {
  readonly type: "resource";
  readonly uri: string;
  readonly text?: string;
  readonly blob?: string;
  readonly mime_type?: string;
  readonly annotations?: Annotations;
}

export interface DiffContent {
  readonly type: "diff";
  readonly path: string;
  readonly new_text: string;
  /** None for a new file. */
  readonly old_text?: string;
}

export interface TerminalContent {
  readonly type: "terminal";
  readonly terminal_id: string;
}

/**
 * Code or notebook cells that an agent ran in the kernel, or a function that it called, with
 * outputs.
 */
export interface RunContent {
  readonly type: "run";
  readonly run_id: string;
  readonly code: string;
  /** waiting (for permission), running, ok, error, interrupted, busy, refused. */
  readonly status: string;
  readonly seconds: number;
  readonly purpose?: string;
  readonly outputs: readonly (RunStream | RunError | RunDisplay)[];
  readonly cells: readonly RunCell[];
  readonly notes: readonly string[];
  /** The name of the function that was called, instead of code. */
  readonly function?: string;
  /** Of the function: names and JSON texts. */
  readonly arguments?: readonly (readonly [string, string])[];
  /** What the function reported last, from 0 to 1. */
  readonly progress?: number;
  readonly progress_text?: string;
  /** The session that answers, if the function is another session. */
  readonly session?: AskedSession;
  /**
   * The execution count of the user's last cell that had begun before; None if it is not
   * known.
   */
  readonly after?: number;
}

/** Content of a type that we do not know, kept and shown as received. */
export interface UnknownContent {
  readonly type: "unknown";
  readonly raw?: Json;
}

/** A command to run. `env` holds the variables that matter (`judged_env`), sorted by name. */
export interface CommandAction {
  readonly type: "command";
  readonly line: string;
  /** The real path of the folder that it runs in. */
  readonly cwd: string;
  readonly env?: readonly (readonly [string, string])[];
  /** It runs in a folder other than the session's. */
  readonly elsewhere?: boolean;
}

/** A text to write to a file. `target` is the real path, if it differs from `path`. */
export interface WriteAction {
  readonly type: "write";
  readonly path: string;
  readonly target?: string;
  /** The current text; None: there is no file. */
  readonly old_text?: string;
  /** The text after the write. */
  readonly new_text?: string;
  readonly note?: string;
}

/**
 * What a write changes in a notebook: its cells as scripts, before and after, and its
 * metadata.
 */
export interface NotebookAction {
  readonly type: "notebook";
  readonly path: string;
  readonly target?: string;
  readonly old_text?: string;
  readonly new_text?: string;
  readonly metadata?: readonly MetadataChange[];
  /** Why this always needs a question: another kernel, most of it lost, too long to show. */
  readonly note?: string;
}

/** A file that a call reads, edits, deletes or moves, if it shows no more than the path. */
export interface FileAction {
  readonly type: "read" | "edit" | "delete" | "move";
  readonly path: string;
  readonly target?: string;
}

export interface FetchAction {
  readonly type: "fetch";
  readonly url: string;
}

/** Any other call, with its input as JSON text. `paths`: the real paths of the files it names. */
export interface OtherAction {
  readonly type: "other";
  readonly kind: string;
  readonly input?: string;
}

/**
 * The part of a call's input that no action shows; empty once its question is settled.
 * `paths`: the real paths of the files that it names.
 */
export interface DetailsAction {
  readonly type: "details";
  readonly input?: string;
}

/**
 * Which tool of which MCP server a call uses, in addition to the actions that its input
 * describes. `sure`: it comes from where the agent names its tools, not from text that a model
 * or a server wrote.
 */
export interface McpAction {
  readonly type: "mcp";
  readonly server: string;
  readonly tool: string;
  readonly sure?: boolean;
}

/** Code to run in the notebook's kernel. `purpose`: the agent's own explanation. */
export interface RunCodeAction {
  readonly type: "run_code";
  readonly code: string;
  readonly purpose?: string;
}

/** Cells of the open notebook to run: their ids and sources. */
export interface RunCellsAction {
  readonly type: "run_cells";
  readonly cells: readonly (readonly [string, string])[];
}

/**
 * A call of one of the user's functions, with the arguments that it gets: names and JSON
 * texts.
 */
export interface CallFunctionAction {
  readonly type: "call_function";
  readonly name: string;
  readonly arguments?: readonly (readonly [string, string])[];
  /** The user said that it only reads, so that nobody is asked. */
  readonly reads?: boolean;
}

/**
 * A call of a kernel tool without effect: a read, or (`later`) one whose code the agent did
 * not show, so that the question follows when the code arrives.
 */
export interface KernelAction {
  readonly type: "kernel";
  readonly tool: string;
  readonly later?: boolean;
}

/** A turn as an item: its prompt and its status. `turn` is its own key. */
export interface TurnItem {
  readonly type: "turn";
  readonly key: string;
  readonly turn: string;
  readonly number: number;
  /** running, done, failed, abandoned; history if it was replayed by a loaded session. */
  readonly status: string;
  readonly prompt: readonly Content[];
  readonly cancelling?: boolean;
  readonly stop_reason?: string;
  readonly error?: string;
  readonly usage?: TokenUsage;
  readonly raw?: readonly Json[];
  /** The user's limit that it exceeded, which cancelled it. */
  readonly limit?: string;
  /** What the agent reports about its rate limit: `reason`, and `wait` in seconds. */
  readonly rate_limit?: RateLimit | null;
  /** The client's id for it: "t1", "t2", …; "h1", … for history, and "r2", … after it. */
  readonly id?: string;
  readonly meta?: Fields;
  /** The session whose agent asked for it; None: the user did. */
  readonly asked_by?: AskedBy;
  /** Which of several users sent it from the panel, as the page claims. */
  readonly person?: string;
  /** Which of several users stopped it, as the page claims. */
  readonly stopped_by?: string;
  /** How long it ran; not in files, because it differs from run to run. */
  readonly seconds?: number;
  /** What it cost, if the agent reports the costs of its session. */
  readonly cost?: Cost;
}

export interface MessageItem {
  readonly type: "message";
  readonly key: string;
  readonly turn: string | null;
  /** agent, thought, or user (a user's message in the middle of a turn). */
  readonly role: string;
  readonly content: readonly Content[];
  readonly raw?: readonly Json[];
  readonly meta?: Fields;
}

export interface ToolItem {
  readonly type: "tool";
  readonly key: string;
  readonly turn: string | null;
  readonly id: string;
  readonly title: string;
  readonly kind: string;
  /**
   * pending, in_progress, completed, failed; set by the client: rejected, cancelled,
   * unfinished, allowed (the agent asked, and reported nothing more).
   */
  readonly status: string;
  readonly content: readonly Content[];
  readonly locations: readonly Location[];
  readonly raw_input?: Json;
  readonly raw_output?: Json;
  readonly name?: string;
  readonly meta?: Fields;
  readonly raw?: readonly Json[];
  /** The agent did it, or asked us to do it, without asking the user first. */
  readonly unprompted?: boolean;
  /** The shell line in its raw input. */
  readonly command?: string | null;
}

export interface PlanItem {
  readonly type: "plan";
  readonly key: string;
  readonly turn: string | null;
  readonly entries?: readonly PlanEntry[];
  readonly id?: string;
  readonly text?: string | null;
  readonly uri?: string | null;
  readonly raw?: readonly Json[];
  readonly meta?: Fields;
}

/** A permission question: `tool` is the key of the tool call it is about. */
export interface QuestionItem {
  readonly type: "question";
  readonly key: string;
  readonly turn: string | null;
  readonly id: string;
  readonly tool: string | null;
  readonly options: readonly Option[];
  /** open, answered, cancelled. */
  readonly status: string;
  readonly answer?: string;
  readonly by?: string;
  readonly reason?: string;
  readonly raw?: readonly Json[];
  /** Answers that we add to the agent's options: allow, and remember it. */
  readonly offers?: readonly Offer[];
  /** What an allow covers; without texts once the question is settled. */
  readonly actions?: readonly Action[];
  /** The possible answers in a fixed order, while the question is open. */
  readonly answers?: readonly Answer[];
  /** The name of the given answer; missing in files of older versions. */
  readonly chosen?: string;
  readonly meta?: Fields;
  /** Who asks, if another session asked for the turn: "kimi asks, for claude". */
  readonly who?: string;
  /** Which of several users answered, as the page claims. */
  readonly person?: string;
}

/** A form to fill in or an address to open, and the user's answer. */
export interface ElicitationItem {
  readonly type: "elicitation";
  readonly key: string;
  readonly turn: string | null;
  readonly id: string;
  readonly mode: string;
  readonly message: string;
  /** open, accepted, declined, cancelled. */
  readonly status: string;
  readonly fields?: readonly FormField[];
  readonly url?: string;
  readonly host?: string;
  readonly title?: string;
  readonly description?: string;
  readonly tool?: string;
  readonly problem?: string;
  readonly by?: string;
  readonly reason?: string;
  /** What the user filled in; secrets are hidden. */
  readonly values?: Fields;
  readonly completed?: boolean;
  readonly raw?: readonly Json[];
  readonly meta?: Fields;
  /** Who asks, as in `Question`. */
  readonly who?: string;
  /** Which of several users answered, as the page claims. */
  readonly person?: string;
}

/** A command that we ran for the agent, with the newest part of its output. */
export interface TerminalItem {
  readonly type: "terminal";
  readonly key: string;
  readonly turn: string | null;
  readonly id: string;
  readonly command?: string;
  readonly cwd?: string;
  /** running, exited, killed. */
  readonly status: string;
  readonly output: string;
  readonly exit_code?: number;
  readonly signal?: string;
  /** How many characters of output are missing. */
  readonly dropped?: number;
  readonly released?: boolean;
}

export interface NoticeItem {
  readonly type: "notice";
  readonly key: string;
  readonly turn: string | null;
  readonly severity: string;
  readonly title: string;
  readonly description?: string;
  readonly source: string;
  readonly raw?: readonly Json[];
  readonly meta?: Fields;
}

export interface CompactionItem {
  readonly type: "compaction";
  readonly key: string;
  readonly turn: string | null;
  readonly id: string;
  readonly status: string;
  readonly summary: readonly Content[];
  readonly error?: string;
  readonly raw?: readonly Json[];
  readonly meta?: Fields;
}

/** The files that a turn changed. `notes` say what is not covered. */
export interface ChangesItem {
  readonly type: "changes";
  readonly key: string;
  readonly turn: string | null;
  readonly files: readonly FileChange[];
  readonly notes: readonly string[];
  /** What else changed during the turn. */
  readonly also?: readonly AlsoChanged[];
}

/** A message that we do not know, as received. */
export interface UnknownItem {
  readonly type: "unknown";
  readonly key: string;
  readonly turn: string | null;
  readonly what: string;
  readonly content: Json;
}

export interface DeleteOperation {
  readonly op: "delete";
  readonly id: string;
  /** The hash that the cell's source must still have. */
  readonly based_on: string;
}

/** Insert a cell after the cell `after` (None: at the top). */
export interface InsertOperation {
  readonly op: "insert";
  readonly id: string;
  readonly after: string | null;
  readonly cell_type: string;
  readonly source: string;
  readonly metadata: Fields;
  readonly attachments: Fields;
  readonly outputs?: readonly Json[];
  readonly execution_count?: number | null;
}

export interface MoveOperation {
  readonly op: "move";
  readonly id: string;
  readonly after: string | null;
  readonly based_on: string;
}

/** Set a cell's source and type, and optionally clear or replace its outputs. */
export interface ReplaceOperation {
  readonly op: "replace";
  readonly id: string;
  readonly based_on: string;
  readonly cell_type: string;
  readonly source: string;
  readonly clear_outputs: boolean;
  readonly attachments: Fields;
  readonly outputs?: readonly Json[];
  readonly execution_count?: number | null;
}

/** Set and remove metadata entries of a cell, or of the notebook (None). */
export interface MetadataOperation {
  readonly op: "metadata";
  readonly id: string | null;
  readonly values: Fields;
  readonly removed: readonly string[];
}

/**
 * A page shows the session's model. `document`: it has access to the notebook that it is part
 * of.
 */
export interface HelloIntent {
  readonly t: "hello";
  readonly view: string;
  readonly document: boolean;
  readonly host: "jupyterlab" | "notebook" | "other";
  /** It answers requests about the open document: see `core.document_protocol`. */
  readonly live: boolean;
  /** The notebook's path in the server's contents API. */
  readonly path: string | null;
  /** Who uses the page, as it claims; only where several people share the document. */
  readonly person: string | null;
}

export interface ByeIntent {
  readonly t: "bye";
  readonly view: string;
}

/** The page missed something after `have`: send the whole state. */
export interface ResyncIntent {
  readonly t: "resync";
  readonly have: number;
  readonly view?: string;
}

/** The page has received everything up to `seq`. */
export interface AckIntent {
  readonly t: "ack";
  readonly seq: number;
  readonly view: string;
}

/** Answer a question: `question` is the key of its item, `option` the id of the chosen answer. */
export interface AnswerIntent {
  readonly t: "answer";
  readonly question: string;
  readonly option: string;
  /** The page that sent it. */
  readonly view?: string;
}

/** Answer an elicitation; `elicitation` is the key of its item. */
export interface ElicitIntent {
  readonly t: "elicit";
  readonly elicitation: string;
  readonly action: "accept" | "cancel" | "decline";
  readonly values?: { readonly [name: string]: string | number | boolean | readonly string[] | null };
  /** The page that sent it. */
  readonly view?: string;
}

/** Cancel the turn with this id; None: the running turn. */
export interface CancelIntent {
  readonly t: "cancel";
  readonly turn: string | null;
  readonly view?: string;
}

/**
 * A part of an answer about the open document; all parts together are JSON
 * (`core.document_protocol`).
 */
export interface DocIntent {
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  readonly text: string;
  readonly part: number;
  readonly of: number;
  /** Milliseconds, by the page's clock. */
  readonly now: number;
}

export interface PromptIntent {
  readonly t: "prompt";
  readonly text: string;
  readonly images?: readonly Picture[];
  /**
   * What to attach, if the text quotes what others may have written; None: what the text
   * mentions.
   */
  readonly mentions?: readonly string[];
  readonly view?: string;
}

/** Send the prompt of a failed turn again. */
export interface AgainIntent {
  readonly t: "again";
  readonly turn: string;
  readonly view?: string;
}

/**
 * What to do with the earlier conversation of the panel's cell: send it with the next prompt
 * (context), resume it, or neither; "noted" dismisses the reminder that a prompt is sent
 * again.
 */
export interface GoOnIntent {
  readonly t: "go_on";
  readonly how: "context" | "fresh" | "noted" | "resume";
}

/** Change the text of a queued prompt; `turn` is the id that its turn will have. */
export interface EditIntent {
  readonly t: "edit";
  readonly turn: string;
  readonly text: string;
}

/** Cancel the running turn, and send this prompt next. */
export interface SendNowIntent {
  readonly t: "send_now";
  readonly turn: string;
  readonly view?: string;
}

/** Move a queued prompt to another position; 0 is the next. */
export interface MoveIntent {
  readonly t: "move";
  readonly turn: string;
  readonly to: number;
}

/** Switch the agent to this mode. */
export interface ModeIntent {
  readonly t: "mode";
  readonly mode: string;
}

/** Set the config option with this id. */
export interface ConfigIntent {
  readonly t: "config";
  readonly id: string;
  readonly value: string | boolean;
}

/** Let the agent use the kernel's tools, or not any more. */
export interface ToolsIntent {
  readonly t: "tools";
  readonly on: boolean;
}

/** Start the agent again, if it has ended. */
export interface RestartIntent {
  readonly t: "restart";
}

/** Reopen a session that the agent has lost; `new`: open a new one in its place. */
export interface ReopenIntent {
  readonly t: "reopen";
  readonly new: boolean;
}

/**
 * Who answers permission questions; edits: ask, but not about edits in the session's folders;
 * given: as Python has set it.
 */
export interface PermissionsIntent {
  readonly t: "permissions";
  readonly policy: "allow" | "ask" | "edits" | "given" | "reject";
}

/** Revoke the grant with this id. */
export interface RevokeIntent {
  readonly t: "revoke";
  readonly grant: string;
}

/** Make checkpoints from the next turn on, so that it can be undone, or not any more. */
export interface CheckpointsIntent {
  readonly t: "checkpoints";
  readonly on: boolean;
}

/** Undo the agent's changes. */
export interface UndoIntent {
  readonly t: "undo";
  /** The id of the turn, or the key of its item. */
  readonly turn?: string | null;
  readonly file?: string | null;
  readonly hunk?: string | null;
  /** Several files of the turn, as listed. */
  readonly files?: readonly string[];
  readonly view?: string;
}

/** Redo changes that were undone. */
export interface RedoIntent {
  readonly t: "redo";
  /** The id of the turn, or the key of its item. */
  readonly turn?: string | null;
  readonly file?: string | null;
  readonly hunk?: string | null;
  /** Several files of the turn, as listed. */
  readonly files?: readonly string[];
  readonly view?: string;
}

/** Keep changes: the user has reviewed them. */
export interface KeepIntent {
  readonly t: "keep";
  /** The id of the turn, or the key of its item. */
  readonly turn?: string | null;
  readonly file?: string | null;
  readonly hunk?: string | null;
  /** Several files of the turn, as listed. */
  readonly files?: readonly string[];
  readonly view?: string;
}

/** Sign in with this method; None: stop the sign-in in progress. */
export interface SignInIntent {
  readonly t: "sign_in";
  readonly method: string | null;
}

/** The user signed in elsewhere: retry what waits for it. */
export interface SignedInIntent {
  readonly t: "signed_in";
}

export interface SignOutIntent {
  readonly t: "sign_out";
}

/**
 * Sign in with a key that the user typed: restart the agent with it as this environment
 * variable.
 */
export interface UseKeyIntent {
  readonly t: "use_key";
  readonly name: string;
  readonly key: string;
}

/** Complete an unfinished @-name. `rid` and `view` identify the request and the page. */
export interface CompleteIntent {
  readonly t: "complete";
  readonly rid: string;
  readonly fragment: string;
  readonly view?: string;
}

/** Preview what the @-names of an unsent prompt will attach. */
export interface PreviewIntent {
  readonly t: "preview";
  readonly rid: string;
  readonly text: string;
  readonly view?: string;
}

/** Suggest prompts that fit what the user has defined. */
export interface ExamplesIntent {
  readonly t: "examples";
  readonly rid: string;
  readonly view?: string;
}

/** List the agent's stored sessions from this cursor on. `rid` identifies the request. */
export interface SessionsIntent {
  readonly t: "sessions";
  readonly rid: string;
  readonly cursor: string | null;
}

/** Open another session; `id` is the one to load, resume or fork. */
export interface OpenIntent {
  readonly t: "open";
  readonly rid: string;
  readonly how: "fork" | "load" | "new" | "resume";
  readonly id?: string;
}

/** Ask the agent to delete this session. */
export interface DeleteIntent {
  readonly t: "delete";
  readonly rid: string;
  readonly id: string;
}

/** List the agents that can be started. `rid` identifies the request. */
export interface AgentsIntent {
  readonly t: "agents";
  readonly rid: string;
}

/**
 * Start an agent, in a new session. `way`: the package that the page showed and the user
 * allowed to be fetched and run, such as "npx NAME"; None: none. `always`: the user allowed it
 * permanently.
 */
export interface StartAgentIntent {
  readonly t: "start_agent";
  readonly rid: string;
  readonly agent: string;
  readonly way: string | null;
  readonly always: boolean;
}

/**
 * Send a part of the conversation as a file; part 0 makes the file. `rid` identifies the
 * request.
 */
export interface ExportIntent {
  readonly t: "export";
  readonly rid: string;
  readonly form: "html" | "markdown" | "notebook";
  readonly part: number;
  readonly view?: string;
}

/** Send the settings again: grants also change in other kernels. */
export interface SettingsIntent {
  readonly t: "settings";
}

/**
 * The other documents of the page with unsaved changes, by their paths in the server's
 * contents API.
 */
export interface TabsIntent {
  readonly t: "tabs";
  readonly notebooks: readonly string[];
  readonly texts: readonly string[];
  readonly view?: string;
}

/** The whole state, or its beginning: more items may follow as patches. */
export interface StateMessage {
  readonly t: "state";
  readonly state: State;
  /** Set by the channel. */
  readonly seq: number;
}

export interface PatchesMessage {
  readonly t: "patches";
  readonly patches: readonly WirePatch[];
  /** Set by the channel. */
  readonly seq: number;
}

/** The newest number: a page that has an older one has missed a message. */
export interface BeatMessage {
  readonly t: "beat";
  readonly seq: number;
}

/**
 * The static output of a turn, by the turn's id, or of the "session" or "sign-in", as a MIME
 * bundle. The session's own holds no turns: `parts` names their static outputs, in order.
 */
export interface StaticMessage {
  readonly t: "static";
  readonly turn: string;
  readonly bundle: Fields;
  /** The HTML that stands for it where the file has it already. */
  readonly reference: string;
  readonly parts: readonly string[];
  /** Where it is shown: the widget's model id and the id of the cell. */
  readonly places: readonly (readonly [string, string])[];
  /** Set by the channel. */
  readonly seq: number;
}

/**
 * What is not part of the state: queued prompts, turns that were never sent, the running
 * turn's time.
 */
export interface NowMessage {
  readonly t: "now";
  readonly queue: readonly QueueEntry[];
  readonly unsent: readonly string[];
  /** Seconds of the running turn, without those in which it waited for the user. */
  readonly elapsed: number | null;
}

/** An answer to a form was invalid: the errors by field; "" is the form itself. */
export interface InvalidMessage {
  readonly t: "invalid";
  readonly elicitation: string;
  readonly errors: { readonly [name: string]: string };
}

/**
 * For one page: path prefixes on the kernel's machine and its server's paths for them, longest
 * first.
 */
export interface PlacesMessage {
  readonly t: "places";
  readonly view: string;
  readonly prefixes: readonly (readonly [string, string])[];
}

/** Progress of an operation on changed files: `at` files `of` this many; 0: not known yet. */
export interface DoingMessage {
  readonly t: "doing";
  readonly intent: OperationIntent;
  readonly at: number;
  readonly of: number;
}

/** An operation on changed files has ended. */
export interface DoneMessage {
  readonly t: "done";
  readonly intent: OperationIntent;
}

/** An intent was invalid, or failed. */
export interface RefusedMessage {
  readonly t: "refused";
  /** The error message. */
  readonly what: string;
  /** Text that could not be sent; it goes back into the input field. */
  readonly prompt?: string;
}

/** The completions of an @-name; `view` and `rid` are those of the request. */
export interface OfferedMessage {
  readonly t: "offered";
  readonly view: string;
  readonly rid: string;
  readonly fragment: string;
  readonly offered: readonly CompletionChoice[];
}

/**
 * The answer to a request of a picker: sessions, an opened or deleted one, agents, or an
 * error.
 */
export interface PickedMessage {
  readonly t: "picked";
  readonly rid: string;
  readonly sessions?: readonly StoredSession[];
  /** Where the next page begins; null: this is the last one. */
  readonly cursor?: string | null;
  /** How many more sessions the agent's page had, too many for a list. */
  readonly left_out?: number;
  /** The widget model of the opened session's panel. */
  readonly model?: string;
  /** The id of the opened session. */
  readonly id?: string;
  /** The id of the deleted session. */
  readonly deleted?: string;
  readonly agents?: readonly AgentChoice[];
  readonly error?: string;
}

/** What the @-names of an unsent prompt will attach; `view` and `rid` are those of the request. */
export interface PreviewedMessage {
  readonly t: "previewed";
  readonly view: string;
  readonly rid: string;
  readonly mentions: readonly MentionPreview[];
}

/** Prompts that fit what the user has defined; `view` and `rid` are those of the request. */
export interface ExamplesMessage {
  readonly t: "examples";
  readonly view: string;
  readonly rid: string;
  readonly prompts: readonly string[];
}

/**
 * A part of the conversation as a file, or an error; `view` and `rid` are those of the
 * request.
 */
export interface ExportedMessage {
  readonly t: "exported";
  readonly view: string;
  readonly rid: string;
  readonly text: string;
  readonly part: number;
  readonly of: number;
  readonly name: string;
  readonly mime_type: string;
  readonly error?: string;
}

/** The settings of the session that are the user's, not the agent's. */
export interface SettingsMessage {
  readonly t: "settings";
  /** ask, edits, allow, reject, kinds, function. */
  readonly permissions: string;
  /** What Python has set, in the same words. */
  readonly given: string;
  /** What Python has set by tool kind. */
  readonly kinds: readonly (readonly [string, string])[];
  /** Whether rules of settings files decide, too. */
  readonly rules: boolean;
  readonly grants: readonly ShownGrant[];
  readonly servers: readonly ShownServer[];
  readonly undo: boolean;
  /** Whether undo can be switched on and off. */
  readonly switches_undo: boolean;
}

/**
 * The earlier conversation of the panel's cell, and what can be done with it; no ways: there
 * is none.
 */
export interface GoingOnMessage {
  readonly t: "going_on";
  readonly title: string;
  readonly text: string;
  /** Exactly what the next prompt would include, or will. */
  readonly quoted: string;
  readonly ways: readonly GoingOnWay[];
}

/** Report the time. */
export interface PingRequest {
  readonly op: "ping";
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/** Say where the document is: `Located`. */
export interface LocateRequest {
  readonly op: "locate";
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/** Send the document: `Described`. */
export interface DescribeRequest {
  readonly op: "describe";
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/**
 * Send what this cell showed of all sessions that the page remembers, also those of earlier
 * kernels: the data of outputs as files have it, the newest last.
 */
export interface PreviousRequest {
  readonly op: "previous";
  readonly cell: string;
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/** Save the document. */
export interface SaveRequest {
  readonly op: "save";
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/** Reload the document if its file changed: `Refreshed`. */
export interface RefreshRequest {
  readonly op: "refresh";
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/** Apply all operations or none, as one undo step: `Applied`. */
export interface ApplyRequest {
  readonly op: "apply";
  readonly operations: readonly DocOperation[];
  /** The hash of the file that contains these changes, which the page then treats as known. */
  readonly holds: string | null;
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/** Execute these cells, in this order, until one fails: `RanCell` for each. */
export interface RunRequest {
  readonly op: "run";
  readonly cells: readonly CellSource[];
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/** Show the outputs of a cell that the kernel runs without an execute_request. */
export interface OutputsRequest {
  readonly op: "outputs";
  readonly id: string;
  /** The hash of the source that the cell must still have. */
  readonly based_on: string;
  readonly outputs: readonly Json[];
  readonly execution_count: number | null;
  readonly running: boolean;
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/** Send the text of a tab: `OpenText`. */
export interface TextRequest {
  readonly op: "text";
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/** Replace the text of a tab, as one undo step, if it still is the one that the user was shown. */
export interface WriteRequest {
  readonly op: "write";
  readonly based_on: string;
  readonly text: string;
  readonly t: "doc";
  readonly view: string;
  readonly rid: string;
  /** Milliseconds, by the page's clock. */
  readonly until: number | null;
  /**
   * The path of another document of the page in the server's contents API; None: the page's
   * own one.
   */
  readonly tab: string | null;
}

/** A page shows the table and has everything up to `have`; 0: nothing yet. */
export interface TableSyncIntent {
  readonly t: "table_sync";
  readonly view: string;
  readonly have: number;
  /** The page has access to the notebook, and writes the static form into the file. */
  readonly document: boolean;
  /** The runs whose rows are open. */
  readonly open: readonly number[];
}

/** A page does not show the table any more. */
export interface TableByeIntent {
  readonly t: "table_bye";
  readonly view: string;
}

/** Cancel all runs that have not ended. */
export interface StopRunsIntent {
  readonly t: "stop_runs";
}

/** Bring the changes of a run to the user's folder. */
export interface ApplyRunIntent {
  readonly t: "apply_run";
  readonly run: number;
}

/** Undo, redo or keep changes that were applied: all of a run, a file, or a hunk of it. */
export interface ChangeRunIntent {
  readonly t: "change_run";
  readonly run: number;
  readonly operation: "keep" | "redo" | "undo";
  readonly file?: string;
  readonly hunk?: string;
}

/** The whole table, or its beginning: more rows may follow. */
export interface TableMessage {
  readonly t: "table";
  readonly seq: number;
  readonly rows: readonly TableRow[];
  readonly progress: Progress;
}

/** Rows that are new or have changed; none: only the progress has. */
export interface RowsMessage {
  readonly t: "rows";
  readonly seq: number;
  readonly rows: readonly TableRow[];
  readonly progress: Progress;
}

/** What an open row shows, as safe HTML. Sent again while the run goes on. */
export interface DetailsMessage {
  readonly t: "details";
  readonly run: number;
  readonly html: string;
  /**
   * The files that were applied to the user's folder, and their states; None: the run was not
   * applied.
   */
  readonly changes?: readonly FileChange[];
}

/**
 * What the file keeps of the table, as a MIME bundle, and where the table is: models and
 * cells.
 */
export interface TableStaticMessage {
  readonly t: "table_static";
  readonly bundle: Fields;
  readonly places: readonly (readonly [string, string])[];
}

/** The changes of a run were applied or undone; if not, `error` says why. */
export interface ApplyEndedMessage {
  readonly t: "apply_ended";
  readonly run: number;
  readonly error?: string;
}

/** What is known about the session apart from its items. */
export interface Header {
  readonly key: "session";
  readonly status?: string;
  readonly detail?: string | null;
  readonly agent?: AgentInfo;
  readonly title?: string | null;
  readonly updated_at?: string | null;
  readonly mode?: string | null;
  readonly modes?: readonly Mode[];
  readonly config?: readonly ConfigOption[];
  readonly commands?: readonly Command[];
  readonly usage?: Usage;
  /** The sign-in that the agent requires before it continues. */
  readonly sign_in?: SignIn | null;
  /** How to continue a lost session: "load", "new". */
  readonly ways?: readonly string[];
  /** Whether the agent can use the kernel's tools; None if the session has none. */
  readonly kernel_tools?: boolean;
  /**
   * What the agent added (`_meta`) to the response that opened the session and to updates
   * about it.
   */
  readonly meta?: Fields;
}

/** What code wrote to stdout or stderr, with ANSI colours. */
export interface RunStream {
  readonly type: "stream";
  readonly name: string;
  readonly text: string;
}

/** The error that ended code; the traceback has ANSI colours. */
export interface RunError {
  readonly type: "error";
  readonly name: string;
  readonly message: string;
  readonly traceback: string;
}

/**
 * What code displayed, or its last value: a text, and possibly an image or the cells of a
 * table.
 */
export interface RunDisplay {
  readonly type: "display";
  readonly text: string;
  readonly image?: ImageContent;
  readonly table?: readonly (readonly string[])[];
}

/** A cell of the notebook that was run. */
export interface RunCell {
  readonly id: string;
  readonly status: string;
  readonly source: string;
  readonly execution_count?: number;
  readonly outputs: readonly (RunStream | RunError | RunDisplay)[];
}

/** The session that answers a call of `session.tool(other_session)`, and which of its turns. */
export interface AskedSession {
  readonly agent: string;
  /** The number of the turn; None while it waits for earlier ones. */
  readonly turn?: number;
  readonly turn_id?: string;
  /** Of the session; not in files, because it differs from run to run. */
  readonly id?: string;
  /** Of its widget, which shows the turn in the page; not in files. */
  readonly model?: string;
  /** Whether its agent waits for an answer of the user; not in files. */
  readonly asks?: boolean;
}

/** One metadata entry that a notebook write changes: `where` is "notebook" or a cell. */
export interface MetadataChange {
  readonly where: string;
  readonly name: string;
  readonly before?: string;
  readonly after?: string;
}

/** The tokens that one turn used, as far as the agent reports them. */
export interface TokenUsage {
  readonly total?: number;
  readonly input?: number;
  readonly output?: number;
  readonly thought?: number;
  readonly cached_read?: number;
  readonly cached_write?: number;
}

/** The agent hit a rate limit. `until`: when a retry is possible, in seconds since 1970. */
export interface RateLimit {
  /** `attempt` of `of` retries will follow; 0: there is no retry. */
  readonly attempt: number;
  readonly of: number;
  readonly reason: string;
  readonly until?: number;
  readonly wait?: number;
}

/** The session whose agent asked for a turn of another session: `session.tool(other_session)`. */
export interface AskedBy {
  readonly agent: string;
  /** The number of the turn that asked. */
  readonly turn: number | null;
  /** The session that was asked: its agent, and the name of the tool if the user chose one. */
  readonly answerer: string;
  /** Of the session; not in files, because it differs from run to run. */
  readonly id?: string;
}

export interface Cost {
  readonly amount: number;
  readonly currency: string;
}

export interface Location {
  readonly path: string;
  readonly line?: number;
  /** In a notebook, the id of the cell that contains the line, if known. */
  readonly cell?: string;
}

export interface PlanEntry {
  readonly content: string;
  readonly priority: string;
  readonly status: string;
}

/**
 * One of the agent's options of a permission request. An unknown `kind` never counts as an
 * allow.
 */
export interface Option {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}

/** An answer that we add to a question: allow, and remember it for a scope. */
export interface Offer {
  readonly id: string;
  readonly name: string;
  readonly scope: string;
}

/** A possible answer to a permission question, with its meaning and its shortcut key. */
export interface Answer {
  /** The id of an option or an offer. */
  readonly id: string;
  readonly name: string;
  /**
   * allow_once, allow_session, allow_always, reject; agent_always: remembered by the agent;
   * other.
   */
  readonly meaning: string;
  readonly key?: string;
  readonly note?: string;
}

/**
 * A field of a form. `least` and `most` bound a number, the length of a text, or the count of
 * choices.
 */
export interface FormField {
  readonly name: string;
  readonly type: string;
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
  readonly default?: Json;
  readonly choices: readonly Choice[];
  readonly format?: string;
  /**
   * Shown, but only the agent checks it: a malicious pattern can keep Python's `re` busy for
   * hours.
   */
  readonly pattern?: string;
  readonly least?: number;
  readonly most?: number;
  /** Neither kept, nor shown while the user types it. */
  readonly secret: boolean;
  /** The field as received, if its type is unknown. */
  readonly raw?: Json;
}

/** One file that a turn changed. */
export interface FileChange {
  readonly id: string;
  readonly path: string;
  /** created, modified, deleted, moved, mode (only its permissions), link (a symlink). */
  readonly action: string;
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly Hunk[];
  /** applied, undone, partly (some hunks are undone), kept, conflict. */
  readonly state: string;
  readonly undoable: boolean;
  /**
   * client: written by a client method; agent: a tool call names it; command: it changed while
   * a command ran; other: the agent of another session changed it; unknown: there is no
   * evidence.
   */
  readonly via: string;
  readonly moved_from?: string;
  readonly binary?: boolean;
  readonly notebook?: boolean;
  /** Why it cannot be undone, or what the conflict is. */
  readonly why?: string;
  /** What is not shown, and why. */
  readonly note?: string;
  /** The key of the tool call that changed it, or of the command that ran at that time. */
  readonly tool?: string;
  readonly allowed_by?: string;
  /** The agent of another session that changed it. */
  readonly by?: string;
}

/** Files that changed during a turn but that no tool call names. */
export interface AlsoChanged {
  readonly files: readonly FileChange[];
  /** The command that ran when they changed; None if unknown. */
  readonly command?: string;
  /** The key of that command's tool call. */
  readonly tool?: string;
  /** The agent that changed them in another session. */
  readonly by?: string;
}

/** An image that the user put into a prompt; `data` is base64. */
export interface Picture {
  readonly data: string;
  readonly mime_type: string;
}

export interface QueueEntry {
  /** The id that its turn will have. */
  readonly turn: string;
  readonly text: string;
  /** How many images and other attachments it has. */
  readonly more: number;
  /** The text is longer than what is sent. */
  readonly cut: boolean;
}

export interface CompletionChoice {
  readonly text: string;
  readonly about: string;
}

/** A session that the agent has stored. */
export interface StoredSession {
  readonly id: string;
  readonly cwd: string;
  readonly title: string | null;
  readonly updated_at: string | null;
  /** Whether it is open in this kernel. */
  readonly open: boolean;
  /** Whether it is the session of the panel that lists it. */
  readonly here: boolean;
}

/** An agent that can be started, or what is missing. */
export interface AgentChoice {
  readonly name: string;
  readonly title: string;
  /** Where it is installed; empty if it is not. */
  readonly found: string;
  /** The installed one; of a package that `way` runs, the one that it names, or "newest". */
  readonly version: string | null;
  /** What is missing, in words. */
  readonly note: string;
  /** The command that installs it; empty if there is none. */
  readonly install: string;
  /**
   * The package that npx or uvx can fetch and run, such as "npx NAME"; None if it is not
   * needed or not possible.
   */
  readonly way: string | null;
  /** The command that this would run. */
  readonly runs: string;
}

/** What an @-name of an unsent prompt will attach. */
export interface MentionPreview {
  readonly name: string;
  /** What it is: "DataFrame 1,000 x 5", "file"; if it is missing, why. */
  readonly about: string;
  /** The bytes that will be sent; null if that is not known before. */
  readonly size: number | null;
  /** "busy": it can only be read when the running cell has ended. */
  readonly status: "busy" | "found" | "missing";
  /** What this agent does not take of it. */
  readonly note: string;
}

/** What the user allowed beyond one action. */
export interface ShownGrant {
  readonly id: string;
  readonly allows: string;
  /** For how long, and where. */
  readonly holds: string;
  readonly since: string;
}

/** An MCP server that the agent was given, without its secrets. */
export interface ShownServer {
  readonly name: string;
  readonly type: string;
  /** The name of its command, or its host. */
  readonly where: string;
  /** Whether it is from the user's settings; otherwise the session was opened with it. */
  readonly own: boolean;
}

export interface GoingOnWay {
  /** As in the intent `GoOn`. */
  readonly how: "context" | "fresh" | "noted" | "resume";
  readonly label: string;
}

/**
 * A cell and the whole source that the user allowed to run: a hash can be met by another
 * source.
 */
export interface CellSource {
  readonly id: string;
  readonly source: string;
}

/** One run as the table shows it. None: not known yet, or not reported by the agent. */
export interface TableRow {
  readonly index: number;
  /** The first line of the prompt, or the name that the user gave it. */
  readonly prompt: string;
  readonly agent: string;
  /** From 1 on. */
  readonly attempt: number;
  readonly state: "cancelled" | "done" | "failed" | "lost" | "preparing" | "queued" | "running" | "scoring" | "skipped";
  /** The values of the columns of `prompts`, if it was a table. */
  readonly fields: Fields;
  /** When it left the queue, in seconds since 1970: the page counts on from there. */
  readonly since?: number;
  /** How long the run took, or has taken so far; without the time in the queue. */
  readonly seconds?: number;
  readonly cost?: number;
  readonly currency?: string;
  readonly tool_calls?: number;
  readonly files?: number;
  readonly added?: number;
  /** Lines of all changed files. */
  readonly removed?: number;
  readonly score?: number;
  /** The score in words: "12 passed, 1 failed". */
  readonly score_text?: string;
  /** What the agent is doing: its newest tool call, or the end of its text. */
  readonly doing?: string;
  /** The beginning of the answer. */
  readonly text?: string;
  /** Why the run failed, was lost, cancelled or skipped. */
  readonly error?: string;
  /** The machine that ran it, if it is another one. */
  readonly host?: string;
  /** `run.apply()` has brought its changes here. */
  readonly applied?: boolean;
}

/** How far all runs are. */
export interface Progress {
  readonly total: number;
  /** The number of runs in each state that occurs. */
  readonly counts: { readonly [name: string]: number };
  /** Since the start, or until the end. */
  readonly seconds: number;
  /** An estimate of the seconds that remain; None before the first run has ended. */
  readonly left?: number;
  /** What the runs have cost, by currency. */
  readonly costs: { readonly [name: string]: number };
  /** How many runs have ended without a reported cost. */
  readonly unpriced?: number;
  /** Why no more runs are started: cancelled, a budget, or `stop_when`. */
  readonly stopped?: string;
  /**
   * What the user should know, in order: the rights of agents' tools, a rate limit, workers
   * that cannot.
   */
  readonly notices: readonly string[];
}

export interface AgentInfo {
  readonly name: string;
  readonly title?: string;
  readonly version?: string;
  readonly cwd?: string;
  readonly offers?: readonly string[];
}

export interface Mode {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
}

export interface ConfigOption {
  readonly id: string;
  readonly name: string;
  /** "select" or "boolean". */
  readonly type: string;
  readonly value: string | boolean;
  readonly choices: readonly Choice[];
  readonly description?: string;
  readonly category?: string;
  /** "model": set with the method that agents had before config options. */
  readonly set_by?: string;
}

/** A slash command that the agent offers. */
export interface Command {
  readonly name: string;
  readonly description: string;
  readonly hint?: string;
}

/** How full the session's context is, and what the session has cost so far. */
export interface Usage {
  readonly used?: number;
  readonly size?: number;
  readonly cost?: Cost;
}

/** The agent requires a sign-in before it continues. */
export interface SignIn {
  readonly methods: readonly SignInMethod[];
  /** The method in progress, or the name of the key's variable. */
  readonly trying?: string;
  /** Why the last attempt failed. */
  readonly error?: string;
  readonly keys?: readonly SignInKey[];
  /** How this agent identifies its users, if it is known. */
  readonly about?: string;
}

/** A value that a config option can take; `group` is the heading that it is listed under. */
export interface Choice {
  readonly value: string;
  readonly name: string;
  readonly description?: string;
  readonly group?: string;
}

/**
 * A part of a change that can be undone separately: some lines, or (with a `title`) a notebook
 * cell.
 */
export interface Hunk {
  readonly id: string;
  readonly old_start: number;
  readonly old_count: number;
  readonly new_start: number;
  readonly new_count: number;
  /** Each starts with "-", "+" or " ". */
  readonly lines: readonly string[];
  readonly undone: boolean;
  readonly title?: string;
  /** The user reviewed it and kept it. */
  readonly kept?: boolean;
}

/** A way to sign in. `command`: what to run in a terminal, if the sign-in happens there. */
export interface SignInMethod {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly type: string;
  /** The command as shown to the user. */
  readonly command?: string;
  /** The command as run: with the agent's folder and environment. */
  readonly run?: string;
}

/** A key that the user can type; the agent gets it as an environment variable. */
export interface SignInKey {
  /** Of the variable. */
  readonly name: string;
  /** What the agent calls it. */
  readonly label?: string;
}

export type Content =
  | TextContent
  | ImageContent
  | AudioContent
  | ResourceLinkContent
  | ResourceContent
  | DiffContent
  | TerminalContent
  | RunContent
  | UnknownContent;

export type Action =
  | CommandAction
  | WriteAction
  | NotebookAction
  | FileAction
  | FetchAction
  | OtherAction
  | DetailsAction
  | McpAction
  | RunCodeAction
  | RunCellsAction
  | CallFunctionAction
  | KernelAction;

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

export type DocOperation =
  | DeleteOperation
  | InsertOperation
  | MoveOperation
  | ReplaceOperation
  | MetadataOperation;

export type ToKernel =
  | HelloIntent
  | ByeIntent
  | ResyncIntent
  | AckIntent
  | AnswerIntent
  | ElicitIntent
  | CancelIntent
  | DocIntent
  | PromptIntent
  | AgainIntent
  | GoOnIntent
  | EditIntent
  | SendNowIntent
  | MoveIntent
  | ModeIntent
  | ConfigIntent
  | ToolsIntent
  | RestartIntent
  | ReopenIntent
  | PermissionsIntent
  | RevokeIntent
  | CheckpointsIntent
  | UndoIntent
  | RedoIntent
  | KeepIntent
  | SignInIntent
  | SignedInIntent
  | SignOutIntent
  | UseKeyIntent
  | CompleteIntent
  | PreviewIntent
  | ExamplesIntent
  | SessionsIntent
  | OpenIntent
  | DeleteIntent
  | AgentsIntent
  | StartAgentIntent
  | ExportIntent
  | SettingsIntent
  | TabsIntent;

export type FromKernel =
  | StateMessage
  | PatchesMessage
  | BeatMessage
  | StaticMessage
  | NowMessage
  | InvalidMessage
  | PlacesMessage
  | DoingMessage
  | DoneMessage
  | RefusedMessage
  | OfferedMessage
  | PickedMessage
  | PreviewedMessage
  | ExamplesMessage
  | ExportedMessage
  | SettingsMessage
  | GoingOnMessage;

export type DocRequest =
  | PingRequest
  | LocateRequest
  | DescribeRequest
  | PreviousRequest
  | SaveRequest
  | RefreshRequest
  | ApplyRequest
  | RunRequest
  | OutputsRequest
  | TextRequest
  | WriteRequest;

export type ToRuns =
  | TableSyncIntent
  | TableByeIntent
  | StopRunsIntent
  | ApplyRunIntent
  | ChangeRunIntent;

export type FromRuns =
  | TableMessage
  | RowsMessage
  | DetailsMessage
  | TableStaticMessage
  | ApplyEndedMessage;

export type OperationIntent = UndoIntent | RedoIntent | KeepIntent;

export type Picking = SessionsIntent | OpenIntent | DeleteIntent | AgentsIntent | StartAgentIntent;

export type SigningIn = SignInIntent | SignedInIntent | SignOutIntent | UseKeyIntent;

export type Looking = CompleteIntent | PreviewIntent | ExamplesIntent;
