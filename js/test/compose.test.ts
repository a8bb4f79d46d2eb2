// What the composer does besides sending: earlier prompts, examples, attachments and their sizes.

import { beforeEach, describe, expect, it } from "vitest";
import type { Content, ExamplesIntent, Item, MentionPreview, PreviewIntent } from "../src/types";
import { unmentioned } from "../src/view/mentions";
import { attachmentsOf, picturesOf, wordsOf } from "../src/view/prompt_text";
import { soon, turn } from "./helpers";
import { press, settled, shown, wired } from "./mounted";

beforeEach(() => document.body.replaceChildren());

const PICTURE = { data: "QUE=", mime_type: "image/png" };
const IMAGE: Content = { type: "image", ...PICTURE };
const text = (words: string): Content => ({ type: "text", text: words });

function panel(items: Item[], session = {}) {
  const made = shown(items, null, { status: "idle", commands: [], ...session });
  wired(made);
  const field = made.find<HTMLTextAreaElement>("[data-acp-composer] textarea")!;
  const write = async (words: string) => {
    field.value = words;
    field.setSelectionRange(words.length, words.length);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await settled();
  };
  const click = async (query: string) => {
    made.find(query)?.click();
    await settled();
    await settled(); // what is put into the field is drawn again
  };
  const send = async () => {
    press(field, "Enter");
    await settled();
  };
  const sent = () => made.emit.mock.calls.map(([it]) => it).filter(({ t }) => t === "prompt");
  return { ...made, field, write, click, send, sent };
}

const FIRST = turn({ status: "done", prompt: [text("What is @df?"), text("`df`: 1"), IMAGE] });
const CHANGES: Item = {
  key: "k9",
  type: "changes",
  turn: "k1",
  files: [
    {
      id: "f1",
      path: "/w/a.py",
      action: "modified",
      state: "open",
      added: 1,
      removed: 0,
      undoable: true,
      hunks: [],
    },
  ],
  notes: [],
} as unknown as Item;

describe("an earlier prompt", () => {
  it("is put into the field with its images, and sent as a new prompt", async () => {
    const prompt = [text("See @df"), text("`fig`: a figure:"), IMAGE, IMAGE];
    const { find, field, click, send, sent } = panel([turn({ status: "done", prompt })]);
    await click("[data-acp-edit-prompt]");
    expect(field.value).toBe("See @df");
    expect(document.activeElement).toBe(field);
    expect(find("[data-acp-editing]")?.textContent).toContain(
      "the agent still remembers that turn",
    );
    await send();
    expect(sent()).toEqual([{ t: "prompt", text: "See @df", images: [PICTURE] }]);
    expect(find("[data-acp-editing]")).toBeNull();
  });

  it("gives the half-written prompt back, when it is sent or left", async () => {
    const { find, field, click, write, send, store } = panel([FIRST]);
    await write("half a");
    await click("[data-acp-edit-prompt]");
    expect(field.value).toBe("What is @df?");
    expect(find("[data-acp-editing]")?.textContent).toContain("comes back");
    expect(store.draft.editing?.kept.text).toBe("half a"); // a view that is created again has it
    await click("[data-acp-edit-prompt]");
    await click("[data-acp-stop-editing]");
    expect([field.value, find("[data-acp-editing]")]).toEqual(["half a", null]);
    await click("[data-acp-edit-prompt]");
    await write("What is it?");
    await send();
    expect(field.value).toBe("half a");
  });

  it("offers the undo of its turn's changes", async () => {
    const { find, click, emit } = panel([FIRST, CHANGES]);
    await click("[data-acp-edit-prompt]");
    expect(find("[data-acp-editing] [data-acp-operation]")?.textContent).toBe("Undo its changes");
    await click("[data-acp-editing] [data-acp-operation]");
    expect(emit).toHaveBeenCalledWith({ t: "undo", turn: "k1" });
  });

  it("says that attachments from Python are not sent again", async () => {
    const link: Content = { type: "resource_link", uri: "file:///a.py", name: "a.py" };
    const prompt = [text("Explain"), link];
    const { find, click } = panel([turn({ status: "done", prompt })]);
    await click("[data-acp-edit-prompt]");
    expect(find("[data-acp-editing]")?.textContent).toContain("not sent again");
  });

  it("cannot be edited while its turn runs, nor below a cell, nor if an agent wrote it", () => {
    expect(panel([turn()]).find("[data-acp-edit-prompt]")).toBeNull();
    expect(shown([FIRST], "t1").find("[data-acp-edit-prompt]")).toBeNull();
    const asked = turn({ status: "done", asked_by: { agent: "a", session: "s" } as never });
    expect(panel([asked]).find("[data-acp-edit-prompt]")).toBeNull();
  });

  it("consists of words, images and what came of mentions", () => {
    expect(wordsOf([IMAGE])).toBe("");
    expect(wordsOf([IMAGE, text("a"), text("b")])).toBe("a");
    expect(picturesOf([IMAGE, IMAGE]).length).toBe(2);
    expect(picturesOf([text("a"), IMAGE]).length).toBe(1);
    expect(picturesOf([text("a"), text("`fig`"), IMAGE, IMAGE]).length).toBe(1);
    expect(picturesOf([{ ...IMAGE, mime_type: "image/svg+xml" } as Content])).toEqual([]);
    expect(attachmentsOf([text("a"), text("`fig`"), IMAGE, IMAGE])).toBe(2);
  });
});

describe("images", () => {
  const TAKES = { agent: { name: "demo", offers: ["image"] } };
  const NONE = { agent: { name: "demo", offers: ["list"] } };
  const png = () => new File([new Uint8Array(2)], "a.png", { type: "image/png" });

  async function put(
    made: ReturnType<typeof panel>,
    name: string,
    files: File[],
    types = ["Files"],
  ) {
    const event = new Event(name, { bubbles: true, cancelable: true });
    const transfer = { files, types };
    Object.assign(event, { clipboardData: transfer, dataTransfer: transfer });
    made.field.dispatchEvent(event);
    await settled();
    return event.defaultPrevented;
  }
  const note = (made: ReturnType<typeof panel>) => made.find(".acp-composer-note")?.textContent;

  it.each(["paste", "drop"])("by %s: only for an agent that takes them", async (name) => {
    const takes = panel([FIRST], TAKES);
    expect(await put(takes, name, [png()])).toBe(true);
    await soon(() => expect(takes.el.querySelectorAll(".acp-thumbs img").length).toBe(1));
    const none = panel([FIRST], NONE);
    expect(await put(none, name, [png()])).toBe(true);
    expect(note(none)).toBe("This agent does not accept images.");
    expect(none.find(".acp-thumbs")).toBeNull();
  });

  it("next to text do not keep the text from being pasted", async () => {
    expect(await put(panel([FIRST], NONE), "paste", [png()], ["text/plain", "Files"])).toBe(false);
  });

  it("are the only files that are dropped: others get a reason, and the page stays", async () => {
    const made = panel([FIRST], TAKES);
    const pdf = new File(["x"], "a.pdf", { type: "application/pdf" });
    expect(await put(made, "drop", [pdf])).toBe(true);
    await soon(() => expect(note(made)).toContain("a.pdf: only PNG"));
    expect(note(made)).toContain("with @");
  });

  it("are chosen in the paper clip's menu, by keyboard", async () => {
    const made = panel([FIRST], TAKES);
    const input = made.find<HTMLInputElement>("input[type=file]")!;
    await made.click("[data-acp-attach]");
    const [mention, choose] = made.el.querySelectorAll<HTMLElement>(".acp-attach-menu button");
    expect(document.activeElement).toBe(mention);
    let asked = false;
    input.addEventListener("click", () => (asked = true));
    choose?.click();
    expect(asked).toBe(true);
    Object.defineProperty(input, "files", { value: [png()], configurable: true });
    input.dispatchEvent(new Event("change", { bubbles: true }));
    await soon(() => expect(made.el.querySelectorAll(".acp-thumbs img").length).toBe(1));
    await made.click("[data-acp-attach]");
    press(document.activeElement, "Escape");
    await settled();
    expect(made.find(".acp-attach-menu")).toBeNull();
    expect(document.activeElement).toBe(made.find("[data-acp-attach]"));
  });

  it("are not offered by the paper clip of an agent that takes none", async () => {
    const made = panel([FIRST], NONE);
    await made.click("[data-acp-attach]");
    expect(made.find(".acp-attach-menu")?.textContent).toContain(
      "This agent does not accept images.",
    );
    expect(made.el.querySelectorAll(".acp-attach-menu button").length).toBe(1);
  });

  it("are not all that is attached: the paper clip begins an @-name", async () => {
    const { write, click, field, emit } = panel([FIRST]);
    await write("see");
    await click("[data-acp-attach]");
    await click(".acp-attach-menu button");
    expect(field.value).toBe("see @");
    expect(document.activeElement).toBe(field);
    await soon(() =>
      expect(emit.mock.calls.map(([it]) => it)).toContainEqual(
        expect.objectContaining({ t: "complete", fragment: "@" }),
      ),
    );
  });
});

describe("chips", () => {
  const DF: MentionPreview = {
    ...{ name: "df", about: "DataFrame 1,000 × 5", size: 2100 },
    ...{ status: "found", note: "" },
  };

  async function previewing(words: string, ...mentions: MentionPreview[]) {
    const made = panel([FIRST]);
    await made.write(words);
    const asked = () =>
      made.emit.mock.calls.map(([it]) => it as PreviewIntent).filter((it) => it.t === "preview");
    await soon(() => expect(asked().length).toBe(1));
    const answer = async (...next: MentionPreview[]) => {
      made.store.receive({ t: "previewed", view: "v", rid: asked().at(-1)!.rid, mentions: next });
      made.frames.draw();
      await settled();
    };
    await answer(...mentions);
    const chips = () =>
      [...made.el.querySelectorAll("[data-acp-chip]")].map((it) => it.textContent);
    return { ...made, asked, answer, chips };
  }

  it("show kind and size of what will be sent", async () => {
    const { chips, asked, write } = await previewing(
      ...(["see @df and @fig and @fran and @m", DF] as const),
      { ...DF, name: "fig", about: "figure", size: 34_000, note: "image: left out" },
      { ...DF, name: "fran", about: "no such variable", status: "missing", size: null },
      { ...DF, name: "m", about: "Model", status: "busy", size: null },
    );
    expect(asked()[0]?.text).toBe("see @df and @fig and @fran and @m");
    expect(chips()).toEqual([
      "@dfDataFrame 1,000 × 5 · 2 kB",
      "@figfigure · 34 kB · image: left out",
      "@frannot found",
      "@mModel · size unknown while a cell runs",
    ]);
    await write("see nothing");
    expect(chips()).toEqual([]);
  });

  it("are asked for once per text, and again after a pause when it changes", async () => {
    const { write, asked, answer, chips } = await previewing("see @df", DF);
    await write("see @df and @x");
    expect(chips().length).toBe(1); // the old ones stay until the answer
    await soon(() => expect(asked().length).toBe(2));
    await answer(DF);
    await write("see @df and @x");
    await new Promise((done) => setTimeout(done, 500));
    expect(asked().length).toBe(2);
  });

  it("remove their mention", async () => {
    const { field, click, chips } = await previewing("see @df and @df.col", DF);
    await click("[data-acp-chip] button");
    expect(field.value).toBe("see and @df.col");
    expect(chips()).toEqual([]);
  });

  it("remove a mention as the kernel finds it", () => {
    expect(unmentioned("see @df, please", "df")).toBe("see, please");
    expect(unmentioned("@df: why?", "df")).toBe(": why?");
    expect(unmentioned("me@df.org and `@df` @df2 @df", "df")).toBe("me@df.org and `@df` @df2");
    expect(unmentioned('read @"my file.txt" now', "my file.txt")).toBe("read now");
    expect(unmentioned("@a.py @axpy", "a.py")).toBe("@axpy");
  });
});

describe("an empty panel", () => {
  async function empty(session = {}) {
    const made = panel([], session);
    const asked = () => made.emit.mock.calls.map(([it]) => it as ExamplesIntent);
    await soon(() => expect(asked().some(({ t }) => t === "examples")).toBe(true));
    made.store.receive({
      t: "examples",
      view: "v",
      rid: "r",
      prompts: ["What is @df?", "Explain"],
    });
    made.frames.draw();
    return made;
  }

  it("teaches what can be written, and offers examples", async () => {
    const { find, field, click, sent } = await empty({
      commands: [{ name: "t", description: "" }],
    });
    const words = find("[data-acp-empty]")?.textContent ?? "";
    for (const part of ["@ attaches", "/ lists", "↑ brings", "? lists all keys"])
      expect(words).toContain(part);
    await click("[data-acp-example]");
    expect([field.value, document.activeElement]).toEqual(["What is @df?", field]);
    expect(sent()).toEqual([]);
  });

  it("adds an example to what is written, and does not name commands that do not exist", async () => {
    const { find, field, write, click } = await empty();
    expect(find("[data-acp-empty]")?.textContent).not.toContain("commands");
    await write("half a");
    await click("[data-acp-example]:last-child");
    expect(field.value).toBe("half a\nExplain");
  });

  it("says only that it waits, without a kernel", () => {
    const made = shown([], null);
    made.store.setLink("gone");
    made.frames.draw();
    expect(made.find(".acp-empty")?.textContent).toBe("Nothing yet.");
  });
});
