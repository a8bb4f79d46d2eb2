// @vitest-environment jsdom

import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Content } from "../src/types";
import { ContentList } from "../src/view/content";
import { dataNote } from "../src/view/media";
import { filePath, languageFor } from "../src/view/resource";
import { message, turn } from "./helpers";
import { shown } from "./mounted";

let place: HTMLElement;

beforeEach(() => {
  place = document.body.appendChild(document.createElement("div"));
});

afterEach(() => {
  render(null, place);
  document.body.replaceChildren();
  vi.useRealTimers();
});

function show(...blocks: Content[]): HTMLElement {
  act(() => render(<ContentList blocks={blocks} markdown={true} />, place));
  return place;
}

const PIXEL = "iVBORw0KGgo=";

test("audio of a safe type has controls, and does not start automatically", () => {
  const audio = show({ type: "audio", data: "UklGRg==", mime_type: "audio/wav" }).querySelector(
    "audio",
  );
  expect(audio?.getAttribute("src")).toBe("data:audio/wav;base64,UklGRg==");
  expect(audio?.hasAttribute("controls")).toBe(true);
  expect(audio?.hasAttribute("autoplay")).toBe(false);
  expect(audio?.getAttribute("aria-label")).not.toBe("");
});

test.each([
  ["audio/x-evil", "UklGRg=="],
  ["text/html", "UklGRg=="],
  ["audio/wav", "javascript:alert(1)"],
  ["audio/wav", ""],
  ["audio/wav", "abc"],
  ['audio/wav" onerror="alert(1)', "UklGRg=="],
])("audio that cannot be played is named: %s %s", (mime_type, data) => {
  const el = show({ type: "audio", data, mime_type });
  expect(el.querySelector("audio")).toBeNull();
  expect(el.textContent).toContain("audio");
});

test("an image is data with an alternative text; line breaks in the data do no harm", () => {
  const img = show({
    type: "image",
    data: `${PIXEL.slice(0, 4)}\n${PIXEL.slice(4)}`,
    mime_type: "IMAGE/PNG ",
  }).querySelector("img");
  expect(img?.getAttribute("src")).toBe(`data:image/png;base64,${PIXEL}`);
  expect(img?.getAttribute("alt")).toBe("Image");
});

test("an image is not decoded again while the text after it grows", () => {
  const image: Content = { type: "image", data: PIXEL, mime_type: "image/png" };
  const img = show(image, { type: "text", text: "a" }).querySelector("img");
  const changes = new MutationObserver(() => undefined);
  changes.observe(img as Node, { attributes: true });
  // Another object with the same data, as after a whole new state.
  show({ ...image }, { type: "text", text: "ab" });
  expect(place.querySelector("img")).toBe(img);
  expect(changes.takeRecords()).toEqual([]);
});

const LINK: Content = {
  type: "resource_link",
  uri: "https://example.org/a?b#c",
  name: "a.html",
  title: "A page",
  description: "What it is",
  mime_type: "text/html",
  size: 12_345,
};

test("a web link is a link, and shows its address", () => {
  const a = show(LINK).querySelector("a");
  expect(a?.getAttribute("href")).toBe("https://example.org/a?b#c");
  expect(a?.getAttribute("rel")).toBe("noopener noreferrer");
  expect(a?.getAttribute("target")).toBe("_blank");
  expect(a?.textContent).toBe("A page");
  expect(place.textContent).toBe("A page What it is, text/html, 12 kB");
});

test.each([
  "javascript:alert(1)",
  "JavaScript:alert(1)//https://x",
  "data:text/html,x",
  "vscode://x",
  "mailto:a@b",
  "https://a\u202eb",
  'https://a"onclick=x',
  "",
])("not a link: %s", (uri) => {
  const el = show({ ...LINK, uri, title: "" } as Content);
  expect(el.querySelector("a")).toBeNull();
  expect(el.textContent).toContain("a.html");
  expect(el.textContent).not.toContain("\u202e");
});

test("a file is a path, not a link", () => {
  const el = show({ ...LINK, uri: "file:///home/u/my%20notes.md" } as Content);
  expect(el.querySelector("a")).toBeNull();
  expect(el.querySelector(".acp-path")?.textContent).toBe("/home/u/my notes.md");
});

test("the path of a file", () => {
  expect(filePath("file:///a/b")).toBe("/a/b");
  expect(filePath("file://localhost/a")).toBe("/a");
  expect(filePath("FILE:/a")).toBe("/a");
  expect(filePath("file:///100%")).toBe("/100%");
  expect(filePath("file://host/share")).toBeNull();
  expect(filePath("https://a/file:///b")).toBeNull();
});

test("an embedded resource is folded code, highlighted by its type or name", () => {
  const el = show({ type: "resource", uri: "file:///w/a.py", text: "import x\u202e\n" });
  const details = el.querySelector("details");
  expect(details?.open).toBe(false);
  expect(details?.querySelector("summary")?.textContent).toBe("Resource /w/a.py 12 B");
  expect(details?.querySelector(".acp-hl-keyword")?.textContent).toBe("import");
  expect(details?.querySelector("code")?.textContent).toBe("import x‹U+202E›\n");
});

test("a long resource is drawn when it is opened", async () => {
  const el = show({ type: "resource", uri: "a.txt", text: "line\n".repeat(10_000) });
  const details = el.querySelector("details");
  expect(details?.querySelector("code")).toBeNull();
  await act(async () => {
    if (details) details.open = true;
    details?.dispatchEvent(new Event("toggle"));
  });
  expect(details?.querySelector("code")?.textContent?.length).toBe(50_000);
});

test("embedded data is named with its size, and not shown", () => {
  const el = show({ type: "resource", uri: "x.bin", blob: "AAAA", mime_type: "application/zip" });
  expect(el.textContent).toBe("Resource x.bin application/zip, 3 B");
  expect(show({ type: "resource", uri: "" }).textContent).toBe("Resource  0 B");
});

test("the size of data", () => {
  expect(dataNote("a/b", "AAA=")).toBe("a/b, 2 B");
  expect(dataNote(undefined, "")).toBe("0 B");
  expect(dataNote("", "A".repeat(4_000_000))).toBe("3.0 MB");
});

test("the language of a resource", () => {
  expect(languageFor("a", "text/x-python")).toBe("python");
  expect(languageFor("a.rs", "text/plain")).toBe("rs");
  expect(languageFor("a.json", "application/geo+json; charset=utf-8")).toBe("json");
  expect(languageFor("https://x/a.ts?b=c#d", undefined)).toBe("ts");
  expect(languageFor("a.<b>", "<script>")).toBe("");
});

test("a message is complete when something follows it, or the turn is over", () => {
  const open = "```python\nimport x\n";
  const made = shown([turn(), message("k2", open)]);
  const coloured = () => made.el.querySelectorAll(".acp-hl-keyword").length;
  expect(coloured()).toBe(0);
  made.patch(["add", message("k3", open)]);
  expect(coloured()).toBe(1);
  made.patch(["set", "k1", ["status"], "done"]);
  expect(coloured()).toBe(2);
});

test("a message that grows afterwards waits for a pause", async () => {
  vi.useFakeTimers();
  const made = shown([turn(), message("k2", "a"), message("k3", "b")]);
  made.patch(["append", "k2", ["content", 0, "text"], "\n\n```python\nimport x\n"]);
  expect(made.find(".acp-message code")?.textContent).toBe("import x\n");
  expect(made.find(".acp-hl-keyword")).toBeNull();
  await vi.advanceTimersByTimeAsync(3000);
  expect(made.find(".acp-hl-keyword")?.textContent).toBe("import");
});

test("content for the model only is folded, and the answer stays one text", () => {
  const hidden = { audience: ["assistant"] };
  const { find, el } = shown([
    turn(),
    {
      ...message("k2", ""),
      content: [
        { type: "text", text: "Hello" },
        { type: "text", text: "internal", annotations: hidden },
        { type: "text", text: "notes", annotations: hidden },
        { type: "text", text: "to both", annotations: { audience: ["user", "assistant"] } },
      ],
    } as never,
  ]);
  const fold = find<HTMLDetailsElement>(".acp-message details");
  expect(fold?.open).toBe(false);
  expect(fold?.textContent).toContain("For the model only");
  expect(fold?.textContent).toContain("internal");
  expect(fold?.textContent).toContain("notes");
  expect(el.querySelectorAll(".acp-message details").length).toBe(1);
  fold?.remove();
  expect(find(".acp-message")?.textContent).toContain("Hello");
  expect(find(".acp-message")?.textContent).toContain("to both");
  expect(find(".acp-message")?.textContent).not.toContain("internal");
});
