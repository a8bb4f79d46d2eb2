import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Item } from "../src/types";
import { ARM_MS } from "../src/view/input_guard";
import { CALM_MS } from "../src/view/keys";
import { question, turn } from "./helpers";
import { press, settled, shown, wired } from "./mounted";

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

const ANSWERS = [
  { id: "a1", name: "Yes", meaning: "allow_once", key: "1" },
  { id: "r1", name: "No", meaning: "reject", key: "2" },
  { id: "acp:session", name: "Allow for this session", meaning: "allow_session", key: "3" },
];
const STOP = { t: "cancel", turn: "t1" };

const answer = (option: string) => ({ t: "answer", question: "k7", option });

/** The panel, with the focus in its composer, and later than any question appeared. */
function panel(...items: Item[]) {
  const made = shown([turn(), ...items], null);
  wired(made);
  const field = made.find<HTMLTextAreaElement>(".acp-field textarea");
  if (!field) throw new Error("no composer");
  field.focus();
  now = Math.max(ARM_MS, CALM_MS);
  const type = async (text: string) => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await settled();
  };
  const sent = () =>
    made.emit.mock.calls.map(([intent]) => intent).filter(({ t }) => t !== "draft");
  return { ...made, field, type, sent };
}

const asking = () => question({ answers: ANSWERS });

test.each([
  ["1", "a1"],
  ["2", "r1"],
])("%s in an empty composer answers the open question", (key, option) => {
  const { field, sent } = panel(asking());
  expect(press(field, key).defaultPrevented).toBe(true);
  expect(sent()).toEqual([answer(option)]);
  expect(document.activeElement).toBe(field);
  expect(press(field, key, { repeat: true }).defaultPrevented).toBe(true); // held down
  expect(press(field, key).defaultPrevented).toBe(false); // pressed again, it is written
});

test("an answer that lasts needs its key twice", async () => {
  const { field, find, sent } = panel(asking());
  press(field, "3");
  await settled();
  expect(sent()).toEqual([]);
  expect(find(".acp-ignored")?.textContent).toBe("Press 3 again: Allow for this session");
  press(field, "3");
  expect(sent()).toEqual([answer("acp:session")]);
});

test.each<[string, (it: ReturnType<typeof panel>) => unknown]>([
  ["in the first moment of a question", () => (now = ARM_MS - 1)],
  ["after a text", ({ type }) => type("1. ")],
  [
    "soon after a text was deleted",
    async ({ type }) => {
      await type("a");
      await type("");
      now += CALM_MS - 1;
    },
  ],
  [
    "while the question is out of sight",
    () =>
      vi
        .mocked(HTMLElement.prototype.getBoundingClientRect)
        .mockReturnValue(new DOMRect(0, innerHeight + 10, 300, 60)),
  ],
])("a digit %s is written, and answers nothing", async (_, before) => {
  const it = panel(asking());
  await before(it);
  expect(press(it.field, "1").defaultPrevented).toBe(false);
  expect(it.sent()).toEqual([]);
});

test("a digit with images, with a modifier, or with two questions is written", async () => {
  const two = panel(asking(), question({ key: "k8", id: "q2", answers: ANSWERS }));
  expect(press(two.field, "1").defaultPrevented).toBe(false);
  const one = panel(asking());
  expect(press(one.field, "1", { ctrlKey: true }).defaultPrevented).toBe(false);
  expect(press(one.field, "1", { isComposing: true }).defaultPrevented).toBe(false);
  one.find("[data-acp-composer]")?.setAttribute("data-empty", "false"); // as with an image
  expect(press(one.field, "1").defaultPrevented).toBe(false);
  expect([...two.sent(), ...one.sent()]).toEqual([]);
});

test("Escape stops the turn, from the composer and from elsewhere in the panel", () => {
  const { field, find, sent } = panel();
  expect(press(field, "Escape").defaultPrevented).toBe(true);
  expect(sent()).toEqual([STOP]);
  press(find("[data-acp-scroll]"), "Escape"); // it is stopping already
  expect(sent()).toEqual([STOP]);
  const other = panel();
  press(other.find("[data-acp-scroll]"), "Escape");
  expect(other.sent()).toEqual([STOP]);
});

test.each([
  ["Ctrl", { ctrlKey: true }],
  ["Alt", { altKey: true }],
  ["Meta", { metaKey: true }],
  ["Shift", { shiftKey: true }],
  ["an input method", { isComposing: true }],
  ["an input method in Safari", { keyCode: 229 }],
])("Escape with %s does not stop the turn", (_, more: KeyboardEventInit) => {
  const { field, sent } = panel();
  expect(press(field, "Escape", more).defaultPrevented).toBe(false);
  expect(sent()).toEqual([]);
});

test("Escape asks first when something is written", async () => {
  const { field, find, type, sent } = panel();
  await type("half a prompt");
  press(field, "Escape");
  await settled();
  expect(sent()).toEqual([]);
  const note = () => find(".acp-keys > [role=status]")?.textContent;
  expect(note()).toBe("Press Esc again to stop the turn.");
  press(field, "a");
  await settled();
  expect(note()).toBe("");
  press(field, "Escape");
  await settled();
  await type("half a prompt, and more"); // pasted or dictated: without a key
  expect(note()).toBe("");
  press(field, "Escape");
  await settled();
  press(field, "Escape", { repeat: true });
  expect(sent()).toEqual([]);
  press(field, "Escape");
  expect(sent()).toEqual([STOP]);
});

test("a prompt that is sent withdraws the first Escape", async () => {
  const { field, type, sent, find } = panel();
  await type("the next prompt");
  press(field, "Escape");
  await settled();
  press(field, "Enter");
  await settled();
  expect(find(".acp-keys > [role=status]")?.textContent).toBe("");
  await type("another one");
  press(field, "Escape");
  expect(sent()).not.toContainEqual(STOP);
});

test("Escape that closes something stops nothing", async () => {
  const { find, sent, type, field, store, frames } = panel();
  store.receive({
    t: "patches",
    seq: 2,
    patches: [["set", "session", ["commands"], [{ name: "tour", description: "" }]] as never],
  });
  frames.draw();
  field.setSelectionRange(0, 0);
  await type("/t");
  expect(find("[role=listbox]")).not.toBeNull();
  press(field, "Escape");
  await settled();
  expect(find("[role=listbox]")).toBeNull();
  await type("");
  press(field, "?");
  await settled();
  expect(find(".acp-keys-list")).not.toBeNull();
  press(field, "Escape");
  await settled();
  expect(find(".acp-keys-list")).toBeNull();
  expect(sent().filter(({ t }) => t === "cancel")).toEqual([]);
});

test("? lists the keys; pressed again, it is written", async () => {
  const { field, find, type } = panel();
  expect(press(field, "?").defaultPrevented).toBe(true);
  await settled();
  expect(find("[data-acp-keys]")?.getAttribute("aria-expanded")).toBe("true");
  for (const key of ["Enter", "Shift+Enter", "Esc", "1", "2", "?"])
    expect(find(".acp-keys-list")?.textContent).toContain(key);
  expect(press(field, "?").defaultPrevented).toBe(false);
  await settled();
  expect(find(".acp-keys-list")).toBeNull();
  await type("why");
  expect(press(field, "?").defaultPrevented).toBe(false);
  find("[data-acp-keys]")?.click();
  await settled();
  expect(find(".acp-keys-list")).not.toBeNull();
});

test("below a cell, Escape in the question stops the turn", () => {
  const made = shown([turn(), asking()]);
  wired(made);
  now = ARM_MS;
  press(made.find(".acp-question"), "Escape");
  expect(made.emit.mock.calls).toEqual([[STOP]]);
});
