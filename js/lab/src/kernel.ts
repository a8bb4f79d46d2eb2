// Asks the kernel of a notebook, without a cell and without a trace in its history or namespace.

/** The version of the package that this extension came with (build.mjs). */
declare const PACKAGE_VERSION: string;

import type { DocumentContext, Kernel } from "./host";

/** What the kernel calls (acp_notebook/frontend/side_panel.py). */
const MODULE = "__import__('acp_notebook.frontend.side_panel', fromlist=['_'])";
const VERSION = "__import__('acp_notebook').__version__";

/** A question does not wait longer for its variables. */
export const VARIABLES_MS = 1000;

/** Why the kernel cannot do it: what the user reads, and a command that helps. */
export class KernelProblem extends Error {
  constructor(
    message: string,
    readonly command: string | null = null,
  ) {
    super(message);
  }
}

/** A picker that the kernel has made: its model, and the cell that will keep the session in the file. */
export interface Offer {
  readonly model: string;
  readonly cell: string;
}

/** Have the kernel offer agents. */
export async function offerAgents(context: DocumentContext): Promise<Offer> {
  const cell = newCellId();
  const model = await callPackage(context, `offer(${JSON.stringify(cell)})`);
  if (typeof model !== "string") throw new KernelProblem("The kernel gave no answer.");
  return { model, cell };
}

/** The cell that keeps a session in the file: its id, and its source. */
export async function cellFor(
  context: DocumentContext,
  session: string,
): Promise<{ cell: string; source: string }> {
  const call = `cell_for(${JSON.stringify(session)}, ${JSON.stringify(newCellId())})`;
  return (await callPackage(context, call)) as { cell: string; source: string };
}

/** The user's variables that this code uses; none if the kernel cannot tell. */
export async function variablesIn(context: DocumentContext, source: string): Promise<string[]> {
  try {
    const asked = callPackage(context, `variables_in(${pythonText(source)})`);
    // While a cell runs, the kernel does not answer.
    const names = await Promise.race([asked, new Promise((end) => setTimeout(end, VARIABLES_MS))]);
    return Array.isArray(names) ? names.map(String) : [];
  } catch (error) {
    console.debug("acp_notebook:", error);
    return [];
  }
}

async function callPackage(context: DocumentContext, call: string): Promise<unknown> {
  const json = `__import__('json').dumps(${MODULE}.${call})`;
  const kernel = await kernelOf(context);
  const expressions = { version: VERSION, answer: json };
  const first = await evaluated(kernel, expressions);
  // A cell that fails takes along what is queued behind it.
  const { version, answer } = first ?? (await evaluated(kernel, expressions)) ?? ABORTED;
  if (answer?.status === "ok") return JSON.parse(unquoted(answer.data?.["text/plain"]));
  if (version === undefined) throw new KernelProblem("This kernel does not run Python.");
  if (version.status !== "ok") throw missing(context, version.ename);
  if (answer?.ename === "ModuleNotFoundError")
    throw outdated(unquoted(version.data?.["text/plain"]));
  throw new KernelProblem(`The kernel could not do it: ${answer?.evalue ?? "no answer"}`);
}

function missing(context: DocumentContext, error: string | undefined): KernelProblem {
  const name = context.sessionContext.kernelDisplayName ?? "this notebook";
  if (error !== "ModuleNotFoundError")
    return new KernelProblem(`acp_notebook cannot be imported in the kernel "${name}": ${error}.`);
  return new KernelProblem(
    `The kernel "${name}" has no acp_notebook. Run this in a cell, and restart the kernel:`,
    "%pip install acp-notebook",
  );
}

function outdated(version: string): KernelProblem {
  return new KernelProblem(
    `The kernel has acp_notebook ${version}; this panel needs ${PACKAGE_VERSION} or newer. ` +
      "Run this in a cell, and restart the kernel:",
    "%pip install --upgrade acp-notebook",
  );
}

async function kernelOf({ sessionContext }: DocumentContext): Promise<Kernel> {
  await sessionContext.ready;
  const kernel = sessionContext.session?.kernel;
  if (!kernel) throw new KernelProblem("This notebook has no kernel. Choose one first.");
  return kernel;
}

type Evaluated = Partial<
  Record<
    string,
    { status: string; data?: Record<string, unknown>; ename?: string; evalue?: string }
  >
>;

/** Evaluate expressions; waits until the kernel is free. Null if the kernel dropped the request. */
async function evaluated(
  kernel: Kernel,
  expressions: Record<string, string>,
): Promise<Evaluated | null> {
  const request = { code: "", silent: true, store_history: false, allow_stdin: false };
  const future = kernel.requestExecute({ ...request, user_expressions: expressions });
  const { content } = await future.done;
  return content.status === "aborted" ? null : (content.user_expressions ?? {});
}

const ABORTED: Evaluated = {
  version: { status: "ok" },
  answer: { status: "error", evalue: "a cell failed" },
};

/** What `repr` makes of a string. */
function unquoted(text: unknown): string {
  const body = String(text).slice(1, -1);
  return body.replace(/\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[^])/g, (_, code: string) => {
    if (/^[xuU]./.test(code)) return String.fromCodePoint(parseInt(code.slice(1), 16));
    return { n: "\n", r: "\r", t: "\t" }[code] ?? code;
  });
}

/** Python reads JSON strings, except for what is beyond the basic plane: two escapes. */
function pythonText(text: string): string {
  return `__import__('json').loads(${JSON.stringify(JSON.stringify(text))})`;
}

export function newCellId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
