// @vitest-environment jsdom

import { render } from "preact";
import { act } from "preact/test-utils";
import type { ComponentChild } from "preact";
import { afterEach, describe, expect, test, vi } from "vitest";
import hostile from "../../../tests/data/hostile.json";
import { isLink, isPicture } from "../../src/text/links";
import { sanitise } from "../../src/text/sanitise";
import { HostContext } from "../../src/view/host";
import { Markdown } from "../../src/view/markdown";
import { TerminalText } from "../../src/view/terminal_text";
import { chunks, random } from "./corpus";

/** Much more than any takes: jsdom is slow, and machines are busy. */
vi.setConfig({ testTimeout: 60_000 });

const texts = hostile.map(({ name, text }) => [name, text] as const);

const TAGS =
  /^(A|BLOCKQUOTE|BR|BUTTON|CODE|DEL|DIV|EM|H[1-6]|HR|IMG|LI|OL|P|PRE|S|SPAN|STRONG|TABLE|TBODY|TD|TH|THEAD|TR|UL)$/;
const ATTRIBUTES =
  /^(alt|aria-hidden|aria-label|class|data-acp-language|href|rel|role|src|start|tabindex|target|title|type)$/;
const COLOURS = /^(--acp-ansi-(fg|bg|light|dark): #[0-9a-f]{6};? ?)+$/;

/** Everything that could run, load, restyle, hide, or be mistaken for one of our controls. */
function* faults(root: ParentNode): Generator<string> {
  for (const element of root.querySelectorAll("*")) {
    const { nodeName, className } = element;
    if (!TAGS.test(nodeName)) yield `element ${nodeName}`;
    if (element.namespaceURI !== "http://www.w3.org/1999/xhtml") yield `namespace of ${nodeName}`;
    for (const { name, value } of element.attributes) {
      if (name === "style" ? !COLOURS.test(value) : !ATTRIBUTES.test(name))
        yield `${name}=${value}`;
      if (name === "class" && !/^(acp-[\w+#.-]+ ?)*$/.test(value)) yield `class ${value}`;
      if (name === "href" && !isLink(value)) yield `link ${value}`;
      if (name === "src" && !isPicture(value)) yield `picture ${value}`;
    }
    if (nodeName === "A" && element.hasAttribute("href")) {
      const [target, rel] = [element.getAttribute("target"), element.getAttribute("rel")];
      if (target !== "_blank" || rel !== "noopener noreferrer") yield `${target} ${rel}`;
    }
    if (nodeName === "BUTTON" && className !== "acp-copy") yield `button ${className}`;
    const exact = nodeName === "CODE" || /acp-(ansi|piece)/.test(className);
    if (exact && HIDDEN.test(element.textContent ?? "")) yield `hidden in ${nodeName}`;
  }
}

const HIDDEN = /[\u202a-\u202e\u2066-\u2069\u200b\u001b\u{e0041}]/u;

function expectHarmless(root: ParentNode): void {
  expect([...faults(root)]).toEqual([]);
}

afterEach(() => {
  render(null, document.body);
  document.body.replaceChildren();
});

function drawn(view: ComponentChild): HTMLElement {
  const place = document.body.appendChild(document.createElement("div"));
  act(() => render(view, place));
  return place;
}

const untouched = document.head.innerHTML;

function expectPageUntouched(): void {
  expect(document.head.innerHTML).toBe(untouched);
  expect("__hit" in window).toBe(false);
  expect(document.body.children.length).toBe(1);
}

describe("as markdown, at once and in chunks", () => {
  test.each(texts)("%s", (_, text) => {
    const typeset = vi.fn();
    const view = (shown: string) => (
      <HostContext.Provider value={{ typeset }}>
        <Markdown text={shown} />
      </HostContext.Provider>
    );
    const place = drawn(view(text));
    expectHarmless(place);
    if (text.length < 400) {
      let sofar = "";
      act(() => render(null, place));
      for (const chunk of chunks(text, random(text.length), 40)) {
        sofar += chunk;
        act(() => render(view(sofar), place));
        expectHarmless(place);
      }
    }
    for (const [element] of typeset.mock.calls as [HTMLElement][])
      expect(element.textContent).not.toMatch(/\\(href|style|class|cssId|def|mmlToken|require)/);
    expectPageUntouched();
  });
});

describe("as the output of a terminal", () => {
  test.each(texts)("%s", (_, text) => {
    const place = drawn(<TerminalText text={text} />);
    expectHarmless(place);
    expect(place.querySelectorAll("a, img").length).toBe(0);
    expectPageUntouched();
  });
});

describe("as HTML, in case the parser lets it through", () => {
  test.each(texts)("%s", (_, text) => {
    const place = drawn(null);
    place.append(sanitise(text));
    expectHarmless(place);
    expectPageUntouched();
  });
});

test("the checks detect what they are for", () => {
  const place = drawn(null);
  place.innerHTML =
    '<b onclick="x">y</b><svg></svg><a href="javascript:1">z</a><p class="jp-Cell" style="top:0">';
  expect([...faults(place)].length).toBe(8);
});

test("no text is lost: HTML is shown as written", () => {
  for (const [name, text] of texts) {
    if (!/^<[^:\u0000-\u001f]*$/.test(text) || text.length > 3000) continue;
    const place = drawn(<Markdown text={text} />);
    expect(place.textContent?.replaceAll("\n", ""), name).toContain(text.slice(0, 8));
    place.remove();
  }
});

test("a harmless text is unchanged", () => {
  const place = drawn(
    <Markdown
      text={
        '[a](https://x.example "t") <mailto:a@b.example> ![p](data:image/png;base64,aGk=) ' +
        "![far](https://x.example/p.png) https://y.example\n\n7. x\n\n- [x] done\n\na|b\n-|-:\n1|2"
      }
    />,
  );
  expectHarmless(place);
  const links = [...place.querySelectorAll("a")].map((a) => [
    a.getAttribute("href"),
    a.textContent,
  ]);
  expect(links).toEqual([
    ["https://x.example", "a"],
    ["mailto:a@b.example", "mailto:a@b.example"],
    ["https://x.example/p.png", "image: far"],
    ["https://y.example", "https://y.example"],
  ]);
  expect(place.querySelector("img")?.getAttribute("src")).toBe("data:image/png;base64,aGk=");
  expect(place.querySelector("ol")?.getAttribute("start")).toBe("7");
  expect(place.querySelector(".acp-task")?.getAttribute("aria-label")).toBe("done");
  expect(place.querySelector("td:last-child")?.className).toBe("acp-right");
});
