// Commands that answer a question: what an attacker would want them to answer.

import { beforeEach, expect, test, vi } from "vitest";
import { HIDDEN, NEW, NONE, Questions, SEEN_MS, SEVERAL } from "../../lab/src/questions";

let now = 0;
let questions: Questions;
let front: Element | null = null;

/** A question, as js/src/view/permission.tsx draws it; returns the keys that it gets. */
function ask(id: string, { key = "1" } = {}): { box: HTMLElement; keys: string[] } {
  const box = document.createElement("div");
  box.dataset["acpQuestion"] = id;
  box.dataset["status"] = "open";
  box.innerHTML = `<div class="acp-asks">Allow this?</div><div class="acp-safe">
    <button data-meaning="allow_once"><kbd>${key}</kbd></button>
    <button data-meaning="reject"><kbd>2</kbd></button></div>`;
  const keys: string[] = [];
  box.addEventListener("keydown", (event) => keys.push(event.key));
  document.body.append(box);
  front = box.querySelector(".acp-safe");
  return { box, keys };
}

/** The user looks at the page for this long. */
function pass(ms: number): void {
  questions.look();
  now += ms;
  questions.look();
}

const everywhere = () => [document.body];

beforeEach(() => {
  document.body.replaceChildren();
  now = 1000;
  questions = new Questions(() => now);
  vi.spyOn(document, "hasFocus").mockReturnValue(true);
  vi.spyOn(document, "visibilityState", "get").mockReturnValue("visible");
  vi.spyOn(Element.prototype, "getBoundingClientRect").mockReturnValue(
    new DOMRect(10, 10, 100, 20),
  );
  document.elementFromPoint = () => front;
});

test("the question in view gets the key of the answer", () => {
  const { keys } = ask("q1");
  pass(SEEN_MS);
  expect(questions.answer("allow_once", everywhere())).toEqual({ answered: true });
  expect(questions.answer("reject", everywhere())).toEqual({ answered: true });
  expect(keys).toEqual(["1", "2"]);
});

test("one that has just come into view is not answered", () => {
  const { keys } = ask("q1");
  expect(questions.answer("allow_once", everywhere())).toEqual({ answered: false, why: NEW });
  pass(SEEN_MS - 1);
  expect(questions.answer("allow_once", everywhere())).toEqual({ answered: false, why: NEW });
  expect(keys).toEqual([]);
});

test("one behind something else is not answered, and begins anew when it is seen again", () => {
  const { keys } = ask("q1");
  const own = front;
  pass(SEEN_MS);
  front = document.body; // a dialog
  expect(questions.answer("allow_once", everywhere())).toEqual({ answered: false, why: HIDDEN });
  front = own;
  expect(questions.answer("allow_once", everywhere())).toEqual({ answered: false, why: NEW });
  expect(keys).toEqual([]);
});

test("nothing is answered in a page that the user does not look at", () => {
  const { keys } = ask("q1");
  pass(SEEN_MS);
  vi.spyOn(document, "hasFocus").mockReturnValue(false);
  expect(questions.answer("allow_once", everywhere())).toEqual({ answered: false, why: HIDDEN });
  expect(keys).toEqual([]);
});

test("a question that takes the place of another does not get its answer", () => {
  const first = ask("q1");
  pass(SEEN_MS);
  first.box.remove();
  const second = ask("q2");
  expect(questions.answer("allow_once", everywhere())).toEqual({ answered: false, why: NEW });
  expect(second.keys).toEqual([]);
});

test("of several questions none is answered", () => {
  const all = [ask("q1"), ask("q2")];
  const boxes = all.map(({ box }) => box);
  // Each is in front where it is.
  let calls = 0;
  document.elementFromPoint = () => boxes[Math.floor(calls++ / 2) % 2] ?? null;
  pass(SEEN_MS);
  expect(questions.answer("allow_once", everywhere())).toEqual({ answered: false, why: SEVERAL });
  expect(all.flatMap(({ keys }) => keys)).toEqual([]);
});

test("a question of another notebook is not answered", () => {
  const { keys } = ask("q1");
  const other = document.createElement("div");
  document.body.append(other);
  pass(SEEN_MS);
  expect(questions.answer("allow_once", [other])).toEqual({ answered: false, why: NONE });
  expect(keys).toEqual([]);
});

test("without the answer that is meant, no other one is given", () => {
  const { box, keys } = ask("q1");
  box.querySelector("[data-meaning=allow_once]")?.setAttribute("data-meaning", "agent_always");
  pass(SEEN_MS);
  const outcome = questions.answer("allow_once", everywhere());
  expect(outcome).toEqual({ answered: false, why: 'This question has no answer "allow once".' });
  expect(keys).toEqual([]);
});

test("a question that is already being answered gets no second answer", () => {
  const { box, keys } = ask("q1");
  for (const button of box.querySelectorAll("button")) button.disabled = true;
  pass(SEEN_MS);
  expect(questions.answer("allow_once", everywhere()).answered).toBe(false);
  expect(keys).toEqual([]);
});
