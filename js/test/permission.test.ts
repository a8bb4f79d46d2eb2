import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Item } from "../src/types";
import { inSight } from "../src/view/focus";
import { ARM_MS, CLICK_MS } from "../src/view/input_guard";
import { question, turn } from "./helpers";
import { press, settled, shown, tool, wired } from "./mounted";

let now = 0;

beforeEach(() => {
  document.body.replaceChildren();
  now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  // There is no layout here: everything counts as in sight.
  vi.spyOn(HTMLElement.prototype, "getBoundingClientRect").mockReturnValue(
    new DOMRect(0, 10, 300, 60),
  );
});
afterEach(() => vi.restoreAllMocks());

const OPTIONS = [
  { id: "odd", name: "Ask my boss", kind: "escalate" },
  { id: "yes", name: "Allow", kind: "allow_once" },
  { id: "no", name: "Reject", kind: "reject_once" },
];
const OFFERS = [{ id: "acp:session", name: "Allow all edits in this session", scope: "session" }];

function asked(fields: object = {}, before: () => void = () => undefined) {
  before();
  const made = shown([
    turn(),
    tool(),
    question({ tool: "k5", options: OPTIONS, offers: OFFERS, ...fields }),
  ]);
  const box = made.find(".acp-question");
  now = ARM_MS;
  return { ...made, box };
}

const STOP = { t: "cancel", turn: "t1" };

const answer = (option: string) => ({ t: "answer", question: "k7", option });

test("it takes the focus when it is not in use", () => {
  const { box } = asked();
  expect(document.activeElement).toBe(box);
});

test.each(["input", "textarea", "[contenteditable]"])("it leaves the focus to %s", (what) => {
  const field = document.createElement(what.startsWith("[") ? "div" : what);
  if (what.startsWith("[")) field.setAttribute("contenteditable", "true");
  field.tabIndex = 0;
  const { box } = asked({}, () => document.body.appendChild(field).focus());
  expect(document.activeElement).toBe(field);
  expect(document.activeElement).not.toBe(box);
});

test("a question out of sight does not take it", () => {
  vi.mocked(HTMLElement.prototype.getBoundingClientRect).mockReturnValue(
    new DOMRect(0, innerHeight + 10, 300, 60),
  );
  const { box } = asked();
  expect(document.activeElement).not.toBe(box);
});

test("a question scrolled out of its own area is out of sight, too", () => {
  const area = document.body.appendChild(document.createElement("div"));
  area.style.overflowY = "auto";
  const question = area.appendChild(document.createElement("div"));
  area.getBoundingClientRect = () => new DOMRect(0, 0, 300, 100);
  question.getBoundingClientRect = () => new DOMRect(0, 30, 300, 60);
  expect(inSight(question)).toBe(true);
  question.getBoundingClientRect = () => new DOMRect(0, 90, 300, 60);
  expect(inSight(question)).toBe(false);
  question.getBoundingClientRect = () => new DOMRect(0, -5, 300, 60);
  expect(inSight(question)).toBe(false);
});

test.each([
  ["1", "yes"],
  ["2", "no"],
  ["3", "odd"],
  ["4", "acp:session"],
  ["Enter", "yes"],
])("%s answers", (key, option) => {
  const { box, emit } = asked();
  const event = press(box, key);
  expect(emit.mock.calls).toEqual([[answer(option)]]);
  expect(event.defaultPrevented).toBe(true);
});

test("keys that are meant for something else do not answer", () => {
  const { box, emit, find } = asked();
  for (const [key, more] of [
    ["5", {}],
    ["0", {}],
    ["a", {}],
    ["1", { ctrlKey: true }],
    ["Enter", { shiftKey: true }],
    ["Enter", { repeat: true }],
    ["1", { isComposing: true }],
  ] as const)
    press(box, key, more);
  press(find("[data-acp-option='no']"), "Enter"); // the button's own click does it
  press(document.body, "1");
  expect(emit).not.toHaveBeenCalled();
});

test.each(["1", "Enter", "Escape"])(
  "%s in its first moment is ignored, and the question says so",
  async (key) => {
    const { box, emit, find } = asked();
    now = ARM_MS - 1;
    const outside = vi.fn();
    document.body.addEventListener("keydown", outside);
    expect(press(box, key).defaultPrevented).toBe(true);
    document.body.removeEventListener("keydown", outside);
    expect(outside).not.toHaveBeenCalled();
    expect(emit).not.toHaveBeenCalled();
    await settled();
    expect(find(".acp-ignored[role=status]")?.textContent).toBe(
      "Key ignored: this question just appeared. Press it again.",
    );
    now = ARM_MS;
    press(box, key);
    expect(emit.mock.calls).toEqual([[key === "Escape" ? STOP : answer("yes")]]);
    await settled();
    if (key !== "Escape") expect(find(".acp-ignored")?.textContent).toBe("");
  },
);

test("a click as it appears is ignored, and the question says so", async () => {
  const { emit, find } = asked();
  const button = find("[data-acp-option='yes']");
  now = CLICK_MS - 1;
  button?.click();
  await settled();
  expect(emit).not.toHaveBeenCalled();
  expect(find(".acp-ignored")?.textContent).toMatch(/^Click ignored: this question just appeared/);
  now = CLICK_MS;
  button?.click();
  expect(emit.mock.calls).toEqual([[answer("yes")]]);
});

test("a click on a button that moved under a resting mouse does not answer", async () => {
  const { emit, find } = asked();
  const button = find("[data-acp-option='yes']");
  const point = (type: string, screenX: number) =>
    button?.dispatchEvent(
      new PointerEvent(type, { bubbles: true, pointerType: "mouse", screenX, screenY: 5 }),
    );
  const click = () => button?.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
  point("pointermove", 7);
  now = 10_000;
  point("pointerenter", 7); // the mouse is where it was
  now += CLICK_MS - 1;
  click();
  await settled();
  expect(emit).not.toHaveBeenCalled();
  expect(find(".acp-ignored")?.textContent).toBe(
    "Click ignored: the button just moved under the pointer. Click again.",
  );
  point("pointerenter", 8); // the mouse came to it
  click();
  expect(emit).toHaveBeenCalledOnce();
});

test("an unknown kind is never preselected: without an allow_once, Enter does nothing", () => {
  const options = [
    { id: "odd", name: "Allow once!", kind: "allow_once_and_more" },
    { id: "all", name: "Always", kind: "allow_always" },
  ];
  const { box, el, emit } = asked({ options, offers: [] });
  expect(el.querySelector("[data-meaning='allow_once']")).toBeNull();
  press(box, "Enter");
  press(box, "1");
  expect(emit).not.toHaveBeenCalled();
});

test("an answer is sent once", () => {
  const made = asked();
  wired(made);
  press(made.box, "1");
  press(made.box, "2");
  made.find("[data-acp-option='no']")?.click();
  expect(made.emit.mock.calls).toEqual([[answer("yes")]]);
});

test("a key that is pressed twice does not answer the next question, too", async () => {
  const made = shown([turn(), question(), question({ key: "k8", id: "q2" })]);
  wired(made);
  const [first, second] = made.el.querySelectorAll(".acp-question");
  now = ARM_MS;
  press(first ?? null, "1");
  press(second ?? null, "1");
  await settled();
  expect(made.emit).toHaveBeenCalledOnce();
  expect(second?.querySelector(".acp-ignored")?.textContent).toBe(
    "Key ignored: another question was just answered. Press it again.",
  );
  now += ARM_MS;
  press(second ?? null, "1");
  expect(made.emit).toHaveBeenCalledTimes(2);
});

test("afterwards the focus goes to the next question, else back to where it was", async () => {
  const cell = document.createElement("div");
  cell.tabIndex = 0;
  const other: Item = question({ key: "k8", id: "q2", tool: null });
  document.body.appendChild(cell).focus();
  const { patch, el } = shown([turn(), tool(), question({ tool: "k5" }), other]);
  expect(document.activeElement).toBe(el.querySelector("[data-acp-question='k7']"));
  patch(["set", "k7", ["status"], "answered"]);
  await settled();
  expect(document.activeElement).toBe(el.querySelector("[data-acp-question='k8']"));
  patch(["set", "k8", ["status"], "cancelled"]);
  await settled();
  expect(el.querySelector("[data-status='open']")).toBeNull();
});

test("the focus goes back to where it was", async () => {
  const cell = document.createElement("div");
  cell.tabIndex = 0;
  document.body.appendChild(cell).focus();
  const { patch } = shown([turn(), question()]);
  expect(document.activeElement).not.toBe(cell);
  patch(["set", "k7", ["status"], "answered"], ["set", "k7", ["answer"], "yes"]);
  await settled();
  expect(document.activeElement).toBe(cell);
});

test("who answered, how, and for what scope", () => {
  const { find, patch } = asked();
  patch(
    ["set", "k7", ["status"], "answered"],
    ["set", "k7", ["answer"], "acp:session"],
    ["set", "k7", ["by"], "user"],
    ["set", "k7", ["reason"], "remembered"],
  );
  expect(find(".acp-settled")?.textContent).toBe(
    "Allowed by you: all edits in this session; remembered",
  );
});

test("an offer of ours that reached the agent as an allow once says what it allows", () => {
  const { find, patch } = asked();
  patch(
    ["set", "k7", ["status"], "answered"],
    ["set", "k7", ["answer"], "yes"],
    ["set", "k7", ["chosen"], "Yes"],
    ["set", "k7", ["by"], "user"],
    ["set", "k7", ["reason"], "Allow all edits in this session"],
  );
  expect(find(".acp-settled")?.textContent).toBe("Allowed by you: all edits in this session");
});

test("nothing is hidden in what a question is about", () => {
  const { find } = shown([
    turn(),
    tool({
      kind: "execute",
      title: "Run \u202etxt.exe",
      command: "rm -rf \u200b/",
    }),
    question({ tool: "k5", options: [{ id: "a", name: "Al\u2066low", kind: "allow_once" }] }),
  ]);
  expect(find(".acp-title")?.textContent).toBe("Run ‹U+202E›txt.exe");
  expect(find(".acp-command")?.textContent).toBe("rm -rf ‹U+200B›/");
  expect(find("[data-acp-option]")?.textContent).toBe("1Al‹U+2066›low");
});

test("what a question is about cannot be folded away", () => {
  const { store, frames, find } = shown([
    turn(),
    tool({ content: [{ type: "text", text: "rm" }] }),
    question({ tool: "k5" }),
  ]);
  store.local({ t: "fold", key: "k5", open: false });
  frames.draw();
  expect(find<HTMLDetailsElement>(".acp-tool details")?.open).toBe(true);
});

// ---- answers as the kernel makes them

const ANSWERS = [
  { id: "a1", name: "Yes", meaning: "allow_once", key: "1" },
  { id: "r1", name: "No", meaning: "reject", key: "2" },
  { id: "acp:session", name: "Allow for this session", meaning: "allow_session", key: "3" },
  { id: "acp:always", name: "Always allow", meaning: "allow_always", key: "4" },
  {
    id: "a2",
    name: "Do not ask again",
    meaning: "agent_always",
    key: "5",
    note: "the agent remembers this, until its session ends",
  },
  { id: "x", name: "Ask my boss", meaning: "other" },
];
const AGENTS_ORDER = [
  { id: "a2", name: "Reject", kind: "allow_always" },
  { id: "r1", name: "No", kind: "reject_once" },
  { id: "a1", name: "Yes", kind: "allow_once" },
  { id: "x", name: "Ask my boss", kind: "escalate" },
];
const described = { answers: ANSWERS, options: AGENTS_ORDER, offers: [] };

test.each([
  ["1", "a1"],
  ["2", "r1"],
  ["3", "acp:session"],
  ["4", "acp:always"],
  ["5", "a2"],
  ["Enter", "a1"],
])("%s answers by meaning, whatever the agent's order", (key, option) => {
  const { box, emit } = asked(described);
  press(box, key);
  press(box, "6");
  expect(emit.mock.calls).toEqual([[answer(option)]]);
});

test("the buttons are the kernel's, with their keys and notes", () => {
  const { el } = asked(described);
  const buttons = [...el.querySelectorAll("[data-acp-option]")].map((it) => it.textContent);
  expect(buttons).toEqual([
    "1Yes",
    "2No",
    "3Allow for this session",
    "4Always allow",
    "5Do not ask againthe agent remembers this, until its session ends",
    "Ask my boss",
  ]);
});

test("Enter chooses nothing permanent", () => {
  const { box, emit } = asked({ ...described, answers: ANSWERS.slice(2, 4) });
  press(box, "Enter");
  press(box, "1");
  expect(emit).not.toHaveBeenCalled();
});

test.each([
  ["acp:session", true],
  ["acp:always", true],
  ["a2", true],
  ["a1", false],
  ["r1", false],
])("Enter on the button %s gives no lasting allow", async (option, refused) => {
  const { el, find } = asked(described);
  const button = el.querySelector(`[data-acp-option="${option}"]`);
  const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
  button?.dispatchEvent(enter); // a browser clicks the button unless this is prevented
  await settled();
  expect(enter.defaultPrevented).toBe(refused);
  expect(find(".acp-ignored")?.textContent?.includes("no lasting allow")).toBe(refused);
});

test("the chosen answer is named like its button", () => {
  const { find, patch } = asked(described);
  patch(
    ["set", "k7", ["status"], "answered"],
    ["set", "k7", ["answer"], "acp:session"],
    ["set", "k7", ["chosen"], "Allow for this session"],
    ["set", "k7", ["by"], "user"],
  );
  expect(find(".acp-settled")?.textContent).toBe("Allowed by you: for this session");
});

test.each(["pending", "in_progress", "completed"])(
  "a call is not drawn as running while its question is open, even if the agent says %s",
  (status) => {
    const { find, patch } = shown([turn(), tool({ status }), question({ tool: "k5" })]);
    expect(find(".acp-state")?.textContent).toContain("waiting for you");
    expect(find(".acp-spinner")).toBeNull();
    expect(find(".acp-pulse")?.dataset["going"]).toBe("false");
    patch(["set", "k7", ["status"], "answered"]);
    expect(find(".acp-state")?.textContent).toContain(status.replace("_", " "));
  },
);

test("an open question stays with its call, even if a later one is settled", () => {
  const { find } = shown([
    turn(),
    tool({ status: "in_progress" }),
    question({ tool: "k5" }),
    question({ key: "k8", id: "q2", tool: "k5", status: "answered", answer: "yes" }),
  ]);
  expect(find(".acp-tool [data-status='open']")).not.toBeNull();
  expect(find(".acp-spinner")).toBeNull();
});
