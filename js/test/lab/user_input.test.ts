import { beforeAll, expect, test } from "vitest";
import { isMeant, watchInput } from "../../lab/src/user_input";

beforeAll(() => watchInput());

/** As a user's: events that a script makes are not trusted, and do not count. */
function input(event: Event, target: Element): void {
  Object.defineProperty(event, "isTrusted", { value: true });
  target.dispatchEvent(event);
}

function place(html: string): Element {
  document.body.innerHTML = html;
  return document.body.querySelector("[data-here]")!;
}

const key = (repeat = false) => new KeyboardEvent("keydown", { key: "a", repeat, bubbles: true });
const click = () => new MouseEvent("click", { bubbles: true });

test("a key is meant; one that is held down is not", () => {
  const field = place("<div data-here></div>");
  input(key(), field);
  expect(isMeant()).toBe(true);
  input(key(true), field);
  expect(isMeant()).toBe(false);
});

test("a click in a document that an agent may have written is not meant", () => {
  const link = place(
    '<div class="jp-Notebook"><a data-here data-commandlinker-command="acp-notebook:allow-once">x</a></div>',
  );
  input(click(), link);
  expect(isMeant()).toBe(false);
});

test("a script cannot make it look like a key", () => {
  const link = place("<a data-here>x</a>");
  input(click(), link);
  link.dispatchEvent(key());
  expect(isMeant()).toBe(false);
});

test.each(["lm-CommandPalette", "lm-Menu", "jp-Launcher"])("a click in %s is meant", (name) => {
  input(click(), place(`<ul class="${name}"><li data-here>x</li></ul>`));
  expect(isMeant()).toBe(true);
});
