// The connection to the kernel: the only code that touches the widget's model. It uses custom messages only:
// a trait that is set from here can stall on ipykernel 7.4 while a cell waits.

import type { AnyModel } from "@anywidget/types";
import { receiveDirectly, realModel } from "./comm_workaround";
import { systemClock } from "./store";
import type { Clock, Store } from "./store";
import type { DocIntent, DocRequest, Emit, ExportIntent, FromKernel, Host } from "./types";
import type { LocalIntent, Looking, Picking, SettingsIntent, SigningIn } from "./types";
import type { TabsIntent, ToKernel } from "./types";

/** The interval of acknowledgements: they only have to reveal a lost tail, not every message. */
export const ACK_MS = 1000;

export interface Introduction {
  /** Distinguishes this page from others that show the same session. */
  readonly view: string;
  /** Whether this page writes the static output into the file. */
  readonly document: boolean;
  readonly host: Host;
  /** Whether it answers requests about the document. */
  readonly live: boolean;
  /** The document's path, as the server knows it. */
  readonly path: string | null;
  /** Who uses this page, if several people share the document. */
  readonly person: string | null;
}

/** Answers a request that concerns the document. */
export type Answerer = (request: DocRequest, send: (answer: DocIntent) => void) => void;

export interface Connection {
  readonly emit: Emit;
  /** Say hello (again): the kernel answers with the whole state. */
  hello(): void;
}

/** The messages that the store handles; the compiler proves that the list is complete. */
const KNOWN: { readonly [T in FromKernel["t"]]: true } = {
  state: true,
  patches: true,
  beat: true,
  static: true,
  now: true,
  places: true,
  invalid: true,
  doing: true,
  done: true,
  refused: true,
  offered: true,
  picked: true,
  settings: true,
  previewed: true,
  examples: true,
  exported: true,
  going_on: true,
};

export function connect(
  model: AnyModel,
  store: Store,
  introduction: Introduction,
  signal: AbortSignal,
  clock: Clock = systemClock,
  answerDoc: Answerer = () => undefined,
): Connection {
  const send = (message: ToKernel) => model.send(message);
  const { view } = introduction;
  const acknowledge = acknowledger((seq) => send({ t: "ack", seq, view }), store, clock, signal);

  const receive = (message: unknown) => {
    if (isDocRequest(message)) {
      if (message.view === view) answerDoc(message, send);
      return;
    }
    if (!isFromKernel(message)) {
      console.debug("acp_notebook: unknown message", message);
      return;
    }
    if ("view" in message && message.view !== view) return;
    const answer = store.receive(message);
    if (answer) send({ ...answer, view });
    acknowledge();
  };
  const watch = () => void isDead(model).then((dead) => dead && store.setLink("gone"));

  model.on("msg:custom", receive);
  receiveDirectly(model).catch((error: unknown) => console.debug("acp_notebook:", error));
  model.on("comm_live_update", watch);
  const hello = () => {
    store.expectState();
    const { document, host, live, path, person } = introduction;
    send({ t: "hello", view, document, host, live, path, person });
  };
  signal.addEventListener("abort", () => {
    model.off("msg:custom", receive);
    model.off("comm_live_update", watch);
    store.setLink("gone");
    try {
      send({ t: "bye", view: introduction.view });
    } catch {
      // The comm is closed already, so the kernel knows.
    }
  });
  hello();

  const emit: Emit = (intent) => {
    if (isLocal(intent)) return store.local(intent);
    if (store.link !== "live") return;
    if (!isUntracked(intent)) store.sending(intent);
    const signed = { ...intent, view };
    send(signed);
  };
  return { emit, hello };
}

const LOCAL: ReadonlySet<string> = new Set<LocalIntent["t"]>(["fold", "draft", "dismiss"]);

type Untracked = Picking | SigningIn | SettingsIntent | Looking | ExportIntent | TabsIntent;

/** The store does not track these: the state, or the view that sent one, shows it as pending. */
const UNTRACKED: ReadonlySet<string> = new Set<Untracked["t"]>([
  "sessions",
  "open",
  "delete",
  "agents",
  "start_agent",
  "sign_in",
  "signed_in",
  "sign_out",
  "use_key",
  "settings",
  "complete",
  "preview",
  "examples",
  "export",
  "tabs",
]);

function isUntracked(intent: Parameters<Emit>[0]): intent is Untracked {
  return UNTRACKED.has(intent.t);
}

function isLocal(intent: Parameters<Emit>[0]): intent is LocalIntent {
  return LOCAL.has(intent.t);
}

function isFromKernel(message: unknown): message is FromKernel {
  return (
    typeof message === "object" &&
    message !== null &&
    Object.hasOwn(KNOWN, (message as FromKernel).t)
  );
}

function isDocRequest(message: unknown): message is DocRequest {
  return typeof message === "object" && message !== null && (message as DocRequest).t === "doc";
}

/** At most one acknowledgement a second, and only of something new. */
function acknowledger(
  send: (seq: number) => void,
  store: Store,
  clock: Clock,
  signal: AbortSignal,
): () => void {
  let acknowledged = 0;
  let waiting = false;
  return () => {
    if (waiting || store.have === acknowledged) return;
    waiting = true;
    clock.after(ACK_MS, () => {
      waiting = false;
      if (signal.aborted || store.link !== "live") return;
      acknowledged = store.have;
      send(acknowledged);
    });
  };
}

/** The widget manager marks a model whose kernel is gone; anywidget's model hides the mark. */
async function isDead(model: AnyModel): Promise<boolean> {
  try {
    return ((await realModel(model)) as { comm_live?: unknown }).comm_live === false;
  } catch {
    return true;
  }
}
