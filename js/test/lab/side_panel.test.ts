import { beforeEach, expect, test, vi } from "vitest";
import { Dock } from "../../lab/src/dock";
import type { App, Fields, NotebookPanel, WidgetsModule } from "../../lab/src/host";
import { KernelProblem, offerAgents, variablesIn, VARIABLES_MS } from "../../lab/src/kernel";
import { Sessions } from "../../lab/src/sessions";
import { SidePanel } from "../../lab/src/side_panel";
import { shell } from "../../src/shell";
import type { PagePicker, PageSession } from "../../src/shell";
import { soon } from "../helpers";

vi.stubGlobal("PACKAGE_VERSION", "1.0");

type Reply = { status: string; user_expressions?: object };

/** A notebook whose kernel gives these answers, each a function's result or a whole reply. */
class Notebook {
  readonly asked: string[] = [];
  readonly cells: Fields[] = [];
  readonly connected: string[] = [];
  readonly panel: NotebookPanel;

  constructor(readonly answer: (call: string) => unknown) {
    const signal = (name: string) => ({ connect: () => this.connected.push(name) });
    const requestExecute = (content: { user_expressions: { answer: string } }) => {
      const call = content.user_expressions.answer;
      this.asked.push(call);
      return { done: Promise.resolve(answer(call)).then((it) => ({ content: it })) };
    };
    this.panel = {
      disposed: signal("disposed"),
      content: { widgets: [] },
      context: {
        path: "a.ipynb",
        model: {
          cells: {},
          sharedModel: {
            cells: this.cells,
            insertCell: (_: number, cell: Fields) => this.cells.push(cell),
          },
        },
        sessionContext: {
          ready: Promise.resolve(),
          session: { kernel: { requestExecute } },
          kernelChanged: signal("kernel"),
          statusChanged: signal("status"),
        },
      },
    } as unknown as NotebookPanel;
  }
}

const ok = (value: unknown): Reply => ({
  status: "ok",
  user_expressions: {
    version: { status: "ok" },
    answer: { status: "ok", data: { "text/plain": `'${JSON.stringify(value)}'` } },
  },
});

const Widget = class {
  readonly node: HTMLElement;
  readonly title = {};
  constructor({ node }: { node: HTMLElement }) {
    this.node = node;
    document.body.replaceChildren(node);
  }
} as unknown as WidgetsModule["Widget"];

let sessions: Sessions;
let side: SidePanel;

/** The picker of an offer; returns how it starts a session. */
function addPicker(id: string): (session: string) => void {
  let start: (session: string) => void = () => {
    throw new Error("not drawn");
  };
  const draw: PagePicker["draw"] = (el, _, page) => {
    el.append(`picker ${id}`);
    start = (session) =>
      void page
        .getWidget<{ mount: () => void }>(`anywidget:${session}`)
        .then(({ exports }) => exports.mount());
  };
  shell().pickers.set(id, { id, manager: null, source: () => `source ${id}`, draw });
  shell().changed?.();
  return (session) => start(session);
}

function addSession(id: string, notebook: Notebook): PageSession {
  const snapshot = {
    link: "live",
    turns: [],
    state: { session: { status: "idle", agent: { name: id } }, items: [] },
  };
  const made = {
    id,
    manager: { context: notebook.panel.context },
    store: { snapshot, subscribe: () => () => undefined, places: () => [] },
    mount: () => undefined,
  } as unknown as PageSession;
  shell().sessions.set(id, made);
  shell().changed?.();
  return made;
}

const buttons = () => [...document.querySelectorAll("button")].map((it) => it.textContent);
const press = (name: string) =>
  document.querySelector<HTMLButtonElement>(`[data-acp-lab=${name}]`)!.click();

beforeEach(() => {
  localStorage.clear();
  shell().sessions.clear();
  shell().pickers.clear();
  const app = { shell: {}, restored: new Promise(() => undefined) } as unknown as App;
  sessions = new Sessions(app);
  side = new SidePanel(Widget, sessions, new Dock());
});

test("with two pickers, each session goes to its own notebook", async () => {
  const [first, second] = ["m1", "m2"].map((model) => new Notebook(() => ok(model)));
  const startFirst = addPicker("m1");
  const startSecond = addPicker("m2");
  sessions.follow(first!.panel);
  void side.start();
  await soon(() => expect(document.body.textContent).toContain("picker m1"));
  sessions.follow(second!.panel);
  void side.start();
  await soon(() => expect(document.body.textContent).toContain("picker m2"));
  addSession("s1", first!);
  addSession("s2", second!);
  startFirst("s1");
  await soon(() => expect(first!.cells.map(({ source }) => source)).toEqual(["source m1"]));
  startSecond("s2");
  await soon(() => expect(second!.cells.map(({ source }) => source)).toEqual(["source m2"]));
});

test("while the kernel is busy, Back leads to the session, and the offer is dropped", async () => {
  let answer: (reply: Reply) => void = () => undefined;
  const notebook = new Notebook(() => new Promise((resolve) => (answer = resolve)));
  addPicker("m1");
  addSession("s1", notebook);
  sessions.follow(notebook.panel);
  const started = side.start();
  await soon(() => expect(notebook.asked.length).toBe(1));
  expect(buttons()).toContain("Back");
  press("back");
  answer(ok("m1"));
  expect(await started).toBeNull();
  expect(document.body.textContent).not.toContain("picker m1");
  expect(buttons()).toContain("New agent");
});

test("a cell that cannot be added is told, and none is added twice", async () => {
  let answer: (reply: Reply) => void = () => undefined;
  const notebook = new Notebook(() => new Promise((resolve) => (answer = resolve)));
  addSession("s1", notebook);
  sessions.follow(notebook.panel);
  press("keep");
  press("keep"); // disabled
  await soon(() => expect(notebook.asked.length).toBe(1));
  answer({
    status: "ok",
    user_expressions: {
      version: { status: "ok" },
      answer: { status: "error", evalue: "no variable" },
    },
  });
  await soon(() => expect(document.body.textContent).toContain("no variable"));
  notebook.cells.push({ id: "c1" });
  press("keep");
  await soon(() => expect(notebook.asked.length).toBe(2));
  answer(ok({ cell: "c1", source: "x" }));
  await soon(() => expect(document.body.textContent).not.toContain("no variable"));
  expect(notebook.cells).toEqual([{ id: "c1" }]);
});

test("a kernel that becomes busy does not rebuild the bar", () => {
  const notebook = new Notebook(() => ok([]));
  const [first] = ["s1", "s2"].map((id) => addSession(id, notebook));
  sessions.follow(notebook.panel);
  const before = document.querySelector("select");
  expect(before).not.toBeNull();
  sessions.changed.tell();
  expect(document.querySelector("select")).toBe(before);
  side.choose(first!);
  expect(document.querySelector("select")!.value).toBe("s1");
});

test("a notebook that is shown again is not connected again", () => {
  const [first, second] = [new Notebook(() => ok([])), new Notebook(() => ok([]))];
  for (const { panel } of [first!, second!, first!, second!, first!]) sessions.follow(panel);
  expect(first!.connected).toEqual(["disposed", "kernel", "status"]);
});

// ---- the kernel

test("variables are not waited for while a cell runs", async () => {
  vi.useFakeTimers();
  const { context } = new Notebook(() => new Promise(() => undefined)).panel;
  const found = variablesIn(context, "x");
  await vi.advanceTimersByTimeAsync(VARIABLES_MS);
  expect(await found).toEqual([]);
  vi.useRealTimers();
});

test("a request that a failing cell took along is repeated, once", async () => {
  const replies: Reply[] = [{ status: "aborted" }, ok("m1")];
  const notebook = new Notebook(() => replies.shift());
  expect((await offerAgents(notebook.panel.context)).model).toBe("m1");
  const always = new Notebook(() => ({ status: "aborted" }));
  const problem = await offerAgents(always.panel.context).catch((error: unknown) => error);
  expect(problem).toBeInstanceOf(KernelProblem);
  expect((problem as Error).message).not.toContain("does not run Python");
  expect(always.asked.length).toBe(2);
});
