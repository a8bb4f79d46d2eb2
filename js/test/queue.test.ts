import { beforeEach, expect, test } from "vitest";
import { now, queuedPrompt, turn } from "./helpers";
import { press, settled, shown, wired } from "./mounted";

beforeEach(() => document.body.replaceChildren());

const QUEUE = [
  queuedPrompt("t2", "Then this", { more: 1 }),
  queuedPrompt("t3", "And <b>that</b>"),
  queuedPrompt("t4", "x".repeat(9), { cut: true }),
];

function queued(items = [turn()]) {
  const made = shown(items, null, { status: "working" });
  wired(made);
  const sendQueue = (queue: typeof QUEUE) => {
    made.store.receive(now(queue, 3));
    made.frames.draw();
  };
  sendQueue(QUEUE);
  const row = (id: string) => made.find(`[data-acp-queued="${id}"]`);
  const button = (id: string, name: string) =>
    [...(row(id)?.querySelectorAll("button") ?? [])].find((it) =>
      it.getAttribute("aria-label")?.startsWith(`${name}: `),
    );
  const sent = () => made.emit.mock.calls.map(([it]) => it).filter(({ t }) => t !== "draft");
  return { ...made, sendQueue, row, button, sent };
}

test("queued prompts are listed as text, with their attachments", () => {
  const { find, row } = queued();
  expect(find("[data-acp-queue]")?.dataset["acpQueue"]).toBe("3");
  expect(row("t2")?.textContent).toContain("Then this +1");
  expect(row("t3")?.querySelector(".acp-queued-text")?.textContent).toBe("And <b>that</b>");
});

test("each can be sent now, moved up and removed; the first cannot move up", () => {
  const { button, sent, sendQueue } = queued();
  button("t3", "Move up")?.click();
  expect(button("t2", "Move up")).toBeUndefined();
  expect(button("t3", "Send now")?.getAttribute("aria-disabled")).toBe("true"); // on its way
  sendQueue(QUEUE); // the kernel has answered
  button("t3", "Send now")?.click();
  button("t2", "Remove")?.click();
  expect(sent()).toEqual([
    { t: "move", turn: "t3", to: 0 },
    { t: "send_now", turn: "t3" },
    { t: "cancel", turn: "t2" },
  ]);
});

test("a prompt is edited in place: Enter saves the text, Escape does not", async () => {
  const { button, row, sent } = queued();
  const open = async () => {
    button("t2", "Edit")?.click();
    await settled();
    const field = row("t2")?.querySelector("textarea");
    if (!field) throw new Error("no field");
    expect(document.activeElement).toBe(field);
    return field;
  };
  const write = (field: HTMLTextAreaElement, text: string) => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  let field = await open();
  write(field, "Other words");
  await settled();
  press(field, "Escape");
  await settled();
  expect(row("t2")?.querySelector("textarea")).toBeNull();
  field = await open();
  expect(field.value).toBe("Then this");
  write(field, "  ");
  await settled();
  press(field, "Enter");
  expect(sent()).toEqual([]); // nothing is no prompt
  write(field, "Other words");
  await settled();
  press(field, "Enter", { shiftKey: true });
  press(field, "Enter");
  expect(sent()).toEqual([{ t: "edit", turn: "t2", text: "Other words" }]);
});

test("the focus stays in the list, or goes to the field: never to the notebook", async () => {
  const { button, row, sendQueue, find } = queued();
  const has = (id: string, name: string) =>
    expect(document.activeElement?.getAttribute("aria-label")).toBe(
      button(id, name)?.getAttribute("aria-label"),
    );
  button("t2", "Edit")?.click();
  await settled();
  press(row("t2")?.querySelector("textarea") ?? null, "Escape");
  await settled();
  has("t2", "Edit");
  button("t3", "Move up")?.focus();
  button("t3", "Move up")?.click(); // to where there is no such button
  has("t3", "Edit");
  sendQueue(QUEUE);
  button("t2", "Remove")?.click();
  has("t3", "Remove");
  sendQueue(QUEUE.slice(1));
  button("t4", "Remove")?.click();
  has("t3", "Remove");
  sendQueue(QUEUE.slice(1, 2));
  button("t3", "Send now")?.click();
  expect(document.activeElement).toBe(find(".acp-field textarea"));
});

test("a prompt too long to be sent completely cannot be edited, and nothing can without a kernel", () => {
  const { button, store, frames } = queued();
  const off = (id: string, name: string) => button(id, name)?.getAttribute("aria-disabled");
  expect(off("t4", "Edit")).toBe("true");
  expect(off("t4", "Remove")).toBe("false");
  store.setLink("gone");
  frames.draw();
  expect(off("t2", "Remove")).toBe("true");
});
