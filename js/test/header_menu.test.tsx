// The buttons of the header, and the menu behind "⋯".

import { render } from "preact";
import { beforeEach, expect, test, vi } from "vitest";
import { HeaderMenu } from "../src/view/header_menu";
import type { MenuEntry } from "../src/view/header_menu";
import { soon } from "./helpers";
import { press } from "./mounted";

beforeEach(() => document.body.replaceChildren());

function shown(entries: MenuEntry[]): HTMLElement {
  const el = document.body.appendChild(document.createElement("div"));
  render(<HeaderMenu entries={entries} />, el);
  return el;
}

const entry = (id: string, more: Partial<MenuEntry> = {}): MenuEntry => ({
  id,
  label: id.toUpperCase(),
  run: vi.fn(),
  ...more,
});

async function opened(entries: MenuEntry[]) {
  const el = shown(entries);
  el.querySelector<HTMLElement>("[data-acp-more]")?.click();
  await soon(() => expect(el.querySelector("[role=menu]")).not.toBeNull());
  return el;
}

test("entries are in the row or in the menu, and the menu is there only if it has some", async () => {
  const row = entry("a", { inRow: true, expanded: true });
  expect(shown([row]).querySelector("[data-acp-more]")).toBeNull();
  const el = await opened([row, entry("b")]);
  expect(el.querySelector("[data-acp-a]")?.getAttribute("aria-expanded")).toBe("true");
  const items = [...el.querySelectorAll("[role=menuitem]")].map((it) => it.textContent);
  expect(items).toEqual(["B"]);
});

test("the menu is used with the arrow keys, and Escape closes it", async () => {
  const el = await opened([entry("a"), entry("b", { disabled: true }), entry("c")]);
  await soon(() => expect(document.activeElement?.textContent).toBe("A"));
  press(document.activeElement, "ArrowDown");
  expect(document.activeElement?.textContent).toBe("C");
  press(document.activeElement, "ArrowDown");
  expect(document.activeElement?.textContent).toBe("A");
  expect(press(document.activeElement, "Escape").defaultPrevented).toBe(true);
  await soon(() => expect(el.querySelector("[role=menu]")).toBeNull());
  expect(document.activeElement).toBe(el.querySelector("[data-acp-more]"));
});

test("Escape in the menu reaches nothing outside", async () => {
  const outside = vi.fn();
  document.body.addEventListener("keydown", outside);
  const el = await opened([entry("a")]);
  press(el.querySelector("[data-acp-a]"), "Escape");
  document.body.removeEventListener("keydown", outside);
  expect(outside).not.toHaveBeenCalled();
});

test("an entry runs once and the menu closes; a switch says whether it is on", async () => {
  const run = vi.fn();
  const el = await opened([entry("a", { checked: true, run })]);
  const item = el.querySelector<HTMLElement>("[role=menuitemcheckbox]");
  expect(item?.getAttribute("aria-checked")).toBe("true");
  item?.click();
  await soon(() => expect(el.querySelector("[role=menu]")).toBeNull());
  expect(run).toHaveBeenCalledOnce();
});
