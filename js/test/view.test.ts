import { beforeEach, expect, test, vi } from "vitest";
import { CLICK_MS } from "../src/view/input_guard";
import { mountView } from "../src/view/mount";
import { line } from "../src/view/display_text";
import type { Item } from "../src/types";
import { message, question, turn } from "./helpers";
import { settled, shown, tool } from "./mounted";

beforeEach(() => document.body.replaceChildren());

test("the prompt, the stream and the status are there, and grow in place", () => {
  const { find, patch } = shown([turn(), message("k2", "Hel")]);
  expect(find(".acp-prompt")?.textContent).toBe("Fix it");
  const node = find(".acp-message");
  patch(["append", "k2", ["content", 0, "text"], "lo"]);
  expect(find(".acp-message")).toBe(node);
  expect(node?.textContent).toBe("Hello");
  expect(find("[data-acp-turn='t1']")?.dataset["acpStatus"]).toBe("running");
  patch(["set", "k1", ["status"], "done"], ["set", "k1", ["stop_reason"], "end_turn"]);
  expect(find("[data-acp-turn='t1']")?.dataset["acpStatus"]).toBe("done");
  expect(find(".acp-status")?.textContent).toBe("Done");
  expect(find("[data-acp-stop]")).toBeNull();
});

test("markup in a text stays text", () => {
  const { find, el } = shown([turn(), message("k2", "<img src=x onerror=alert(1)>")]);
  expect(el.querySelector("img")).toBeNull();
  expect(find(".acp-message")?.textContent).toBe("<img src=x onerror=alert(1)>");
});

test("a question is answered by a button, which waits for the kernel", () => {
  const { find, el, emit, store, frames, patch } = shown([
    turn(),
    tool(),
    question({ tool: "k5" }),
  ]);
  expect(find(".acp-tool .acp-question")?.getAttribute("aria-label")).toContain("Edit sum.py");
  const yes = find<HTMLButtonElement>("[data-acp-option='yes']");
  expect(yes?.dataset["kind"]).toBe("allow_once");
  const later = performance.now() + CLICK_MS;
  vi.spyOn(performance, "now").mockReturnValue(later);
  yes?.click();
  vi.restoreAllMocks();
  const answer = { t: "answer", question: "k7", option: "yes" } as const;
  expect(emit).toHaveBeenCalledWith(answer);
  store.sending(answer);
  frames.draw();
  const buttons = [...el.querySelectorAll<HTMLButtonElement>("[data-acp-option]")];
  expect(buttons.map(({ disabled }) => disabled)).toEqual([true, true]);
  patch(
    ["set", "k7", ["status"], "answered"],
    ["set", "k7", ["answer"], "yes"],
    ["set", "k7", ["by"], "user"],
  );
  expect(el.querySelector("[data-acp-option]")).toBeNull();
  expect(find(".acp-settled")?.textContent).toBe("Allowed once by you");
});

test("an answer that the kernel has not accepted yet says so", () => {
  const { find, store, clock, frames } = shown([turn(), question()]);
  store.sending({ t: "answer", question: "k7", option: "no" });
  clock.pass(2000);
  frames.draw();
  expect(find(".acp-question")?.textContent).toContain(
    "Kernel busy: your answer will be delivered when the cell ends.",
  );
});

test("stop cancels the turn, and is disabled while it is cancelling", () => {
  const { find, emit, patch } = shown([turn()]);
  find("[data-acp-stop]")?.click();
  expect(emit).toHaveBeenCalledWith({ t: "cancel", turn: "t1" });
  patch(["set", "k1", ["cancelling"], true]);
  expect(find<HTMLButtonElement>("[data-acp-stop]")?.disabled).toBe(true);
  expect(find(".acp-status")?.textContent).toContain("Stopping…");
});

test("without its kernel the transcript stays, and its controls are disabled", async () => {
  const { find, store, frames } = shown([turn(), message("k2", "Hi"), question()]);
  store.setLink("gone");
  frames.draw();
  await settled();
  expect(find(".acp")?.dataset["acpLink"]).toBe("gone");
  expect(find(".acp-message")?.textContent).toBe("Hi");
  expect(find<HTMLButtonElement>("[data-acp-option]")?.disabled).toBe(true);
  expect(find<HTMLButtonElement>("[data-acp-stop]")?.disabled).toBe(true);
  expect(find(".acp-banner")?.textContent).toContain("Disconnected");
});

test("a turn that is queued waits for the one before it", () => {
  const { find, patch } = shown([turn()], "t2");
  expect(find("[data-acp-status]")?.textContent).toBe("Waiting for the previous turn…");
  patch(["add", turn({ key: "k9", turn: "k9", id: "t2", number: 2 })]);
  expect(find("[data-acp-turn='t2']")?.dataset["acpStatus"]).toBe("running");
});

test("the session shows all turns; a turn shows its own", () => {
  const second = turn({ key: "k3", turn: "k3", id: "t2", number: 2 });
  const items = [turn({ status: "done" }), message("k2", "a"), second];
  expect(shown(items, null).el.querySelectorAll(".acp-turn").length).toBe(2);
  expect(shown(items, "t2").el.querySelectorAll(".acp-turn").length).toBe(1);
});

test("tool calls: kind, title, status, locations, text and diffs", () => {
  const { find } = shown([
    turn(),
    tool({
      content: [
        { type: "text", text: "ok" },
        { type: "diff", path: "sum.py", old_text: "a\nb\n", new_text: "a\nc\n" },
        { type: "terminal", terminal_id: "x1" },
        { type: "image", data: "aGk=", mime_type: "image/png" },
        { type: "image", data: "aGk=", mime_type: "image/svg+xml" },
      ],
    }),
  ]);
  const text = find(".acp-tool")?.textContent ?? "";
  for (const part of ["edit", "Edit sum.py", "pending", "ok", "-b", "+c", "terminal x1"])
    expect(text).toContain(part);
  expect(text.match(/sum\.py/g)?.length).toBe(1); // the title says it, and nothing repeats it
  expect(find<HTMLImageElement>("img")?.src).toBe("data:image/png;base64,aGk=");
  expect(document.querySelectorAll("img").length).toBe(1);
});

test("plans, thoughts, notices and unknown items are shown", () => {
  const { el, find } = shown([
    turn(),
    message("k2", "hm", "thought"),
    {
      key: "k3",
      type: "plan",
      turn: "k1",
      entries: [
        { content: "read", priority: "high", status: "completed" },
        { content: "write", priority: "low", status: "pending" },
      ],
    },
    { key: "k4", type: "notice", turn: "k1", severity: "error", title: "Oh", source: "agent" },
    { key: "k5", type: "unknown", turn: "k1", what: "smell", content: { x: 1 } },
    { key: "k6", type: "of a newer kernel", turn: "k1" } as unknown as Item,
    { key: "k8", type: "compaction", id: "c", turn: "k1", status: "completed", summary: [] },
  ]);
  expect(find("details.acp-thought")?.textContent).toContain("hm");
  expect(find(".acp-plan")?.textContent).toContain("1 of 2");
  expect(find(".acp-notice")?.textContent).toBe("Oh");
  const unknown = [...el.querySelectorAll(".acp-unknown")].map((node) => node.textContent);
  expect(unknown[0]).toContain('"x": 1');
  expect(unknown[1]).toContain("of a newer kernel");
});

test("only the item that changed renders again", () => {
  const { find, patch } = shown([turn(), message("k2", "a"), message("k3", "b")]);
  // Taken away behind Preact's back: a view that renders again would put its text back.
  const first = find(".acp-message");
  first?.firstElementChild?.firstChild?.remove();
  patch(["append", "k3", ["content", 0, "text"], "c"]);
  expect(first?.textContent).toBe("");
  expect(document.querySelectorAll(".acp-message")[1]?.textContent).toBe("bc");
});

test("folds belong to the session: all views, old and new, agree", () => {
  const { store, el, frames, emit, controller } = shown([turn(), message("k2", "hm", "thought")]);
  const details = el.querySelector<HTMLDetailsElement>("details");
  expect(details?.open).toBe(true);
  store.local({ t: "fold", key: "k2", open: false });
  frames.draw();
  expect(details?.open).toBe(false);
  const other = document.createElement("div");
  mountView(store, emit, "t1", other, controller.signal);
  expect(other.querySelector("details")?.open).toBe(false);
});

test("an unmounted view is empty and stops listening", () => {
  const { el, controller, patch } = shown([turn(), message("k2", "a")]);
  controller.abort();
  expect(el.childNodes.length).toBe(0);
  patch(["append", "k2", ["content", 0, "text"], "c"]);
  expect(el.childNodes.length).toBe(0);
});

test("a view that an earlier listener of the same change ends is not drawn again", () => {
  const { store, emit, patch } = shown([turn(), message("k2", "a")]);
  const [el, until] = [document.createElement("div"), new AbortController()];
  store.subscribe(() => until.abort());
  mountView(store, emit, null, el, until.signal);
  patch(["append", "k2", ["content", 0, "text"], "c"]);
  expect([until.signal.aborted, el.childNodes.length]).toEqual([true, 0]);
});

test("hidden characters in a title are visible", () => {
  expect(line("rm \u202eexe.txt\nnow")).toBe("rm ‹U+202E›exe.txt ⏎ now");
});
