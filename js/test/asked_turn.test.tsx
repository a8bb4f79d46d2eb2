import { render } from "preact";
import { beforeEach, expect, test, vi } from "vitest";
import type { RunContent } from "../src/types";
import { HostContext } from "../src/view/host";
import type { PanelHost } from "../src/view/host";
import { RunView } from "../src/view/run";
import { message, question, turn } from "./helpers";
import { shown, tool } from "./mounted";

const SESSION = { agent: "kimi", turn: 3, turn_id: "t3", model: "m1" };
const CALL: RunContent = {
  type: "run",
  run_id: "run-1",
  code: "",
  status: "running",
  seconds: 1,
  outputs: [],
  cells: [],
  notes: [],
  function: "ask_kimi",
  arguments: [["prompt", '"Review this"']],
  session: SESSION,
};

beforeEach(() => document.body.replaceChildren());

function drawn(
  run: RunContent,
  host: PanelHost,
  el: HTMLElement = document.createElement("div"),
): HTMLElement {
  render(
    <HostContext.Provider value={host}>
      <RunView run={run} />
    </HostContext.Provider>,
    el,
  );
  return el;
}

test("the other session's turn is live in the card while it runs, and folded once it is over", () => {
  let signal: AbortSignal | undefined;
  const show = vi.fn((_model: string, _turn: string, place: HTMLElement, until: AbortSignal) => {
    place.textContent = "the turn of kimi";
    signal = until;
    return Promise.resolve();
  });
  const el = drawn(CALL, { turn: show });
  expect(show).toHaveBeenCalledWith("m1", "t3", expect.anything(), expect.anything());
  expect(el.querySelector("details.acp-asked")?.hasAttribute("open")).toBe(true);
  expect(el.textContent).toContain("kimi, turn 3");
  const outputs = [{ type: "display", text: "It is fine." }] as const;
  drawn({ ...CALL, status: "ok", outputs }, { turn: show }, el);
  expect(el.querySelector("details.acp-asked")?.hasAttribute("open")).toBe(false);
  expect(el.textContent).toContain("It is fine.");
  expect(el.textContent).not.toContain("the turn of kimi");
  expect(signal?.aborted).toBe(true);
  expect(show).toHaveBeenCalledTimes(1);
});

test("without a way to show it, a line names the session that was asked", () => {
  expect(drawn(CALL, {}).textContent).toContain("Asks kimi, turn 3");
  const over = { ...CALL, status: "ok", session: { agent: "kimi", turn: 3 } };
  expect(drawn(over, { turn: vi.fn() }).textContent).toContain("Answered by kimi, turn 3");
});

test("a question says whose it is, in the card of its call and outside of one", () => {
  const who = "kimi asks, for claude";
  const inside = shown([turn(), tool(), question({ tool: "k5", who })]);
  expect(inside.find(".acp-asks")?.textContent).toContain("kimi asks, for claude: Allow this?");
  const alone = shown([turn(), question({ who })]);
  expect(alone.find(".acp-asks")?.textContent).toContain("kimi asks, for claude, for permission");
});

test("a form says whose it is", () => {
  const form = { key: "k2", type: "elicitation", turn: "k1", id: "e1", mode: "form" } as const;
  const made = shown([
    turn(),
    { ...form, message: "Which one?", status: "open", who: "kimi asks, for claude" },
  ]);
  expect(made.find(".acp-asks")?.textContent).toBe("kimi asks, for claude");
});

test("the prompt of a turn says who asked for it", () => {
  const by = { agent: "claude", turn: 2, answerer: "kimi" };
  const made = shown([turn({ asked_by: by }), message("k2", "It is fine.")]);
  expect(made.find(".acp-prompt")?.textContent).toContain("Asked by claude, in its turn 2");
});
