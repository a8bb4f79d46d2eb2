import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Item } from "../src/types";
import { inSight } from "../src/view/focus";
import { ARM_MS } from "../src/view/permission";
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

const answer = (option: string) => ({ t: "answer", question: "k7", option });

test("it takes the keyboard when nobody uses it", () => {
  const { box } = asked();
  expect(document.activeElement).toBe(box);
});

test.each(["input", "textarea", "[contenteditable]"])("it leaves the keyboard to %s", (what) => {
  const field = document.createElement(what.startsWith("[") ? "div" : what);
  if (what.startsWith("[")) field.setAttribute("contenteditable", "true");
  field.tabIndex = 0;
  const { box } = asked({}, () => document.body.appendChild(field).focus());
  expect(document.activeElement).toBe(field);
  expect(document.activeElement).not.toBe(box);
});

test("what is out of sight does not take it", () => {
  vi.mocked(HTMLElement.prototype.getBoundingClientRect).mockReturnValue(
    new DOMRect(0, innerHeight + 10, 300, 60),
  );
  const { box } = asked();
  expect(document.activeElement).not.toBe(box);
});

test("what scrolls out of its own area is out of sight, too", () => {
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
  ["1", "odd"],
  ["2", "yes"],
  ["3", "no"],
  ["4", "acp:session"],
  ["Enter", "yes"],
  ["Escape", "no"],
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

test("what is typed in its first moment does not answer, and goes nowhere else", () => {
  const { box, emit } = asked();
  now = ARM_MS - 1;
  const outside = vi.fn();
  document.body.addEventListener("keydown", outside);
  expect(press(box, "1").defaultPrevented).toBe(true);
  document.body.removeEventListener("keydown", outside);
  expect(outside).not.toHaveBeenCalled();
  expect(emit).not.toHaveBeenCalled();
});

test("an unknown kind is never preselected: without an allow_once, Enter does nothing", () => {
  const options = [
    { id: "odd", name: "Allow once!", kind: "allow_once_and_more" },
    { id: "all", name: "Always", kind: "allow_always" },
  ];
  const { box, el, emit } = asked({ options, offers: [] });
  expect(el.querySelector("[data-first='true']")).toBeNull();
  press(box, "Enter");
  press(box, "Escape");
  expect(emit).not.toHaveBeenCalled();
});

test("an answer goes out once", () => {
  const made = asked();
  wired(made);
  press(made.box, "2");
  press(made.box, "3");
  made.find("[data-acp-option='no']")?.click();
  expect(made.emit.mock.calls).toEqual([[answer("yes")]]);
});

test("afterwards the keyboard goes to the next question, else to whom it was taken from", async () => {
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

test("it goes back to whom it was taken from", async () => {
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
    "Allow all edits in this session by yousession: remembered",
  );
});

test("nothing hides in what is asked about", () => {
  const { find } = shown([
    turn(),
    tool({
      kind: "execute",
      title: "Run \u202etxt.exe",
      raw_input: { command: ["rm", "-rf", "\u200b/"] },
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
