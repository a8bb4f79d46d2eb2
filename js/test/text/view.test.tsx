// @vitest-environment jsdom

import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CopyButton } from "../../src/view/code";
import { HostContext } from "../../src/view/host";
import type { PanelHost } from "../../src/view/host";
import { Markdown } from "../../src/view/markdown";
import { TerminalText } from "../../src/view/terminal_text";

let place: HTMLElement;

beforeEach(() => {
  vi.useFakeTimers();
  place = document.body.appendChild(document.createElement("div"));
});

afterEach(() => {
  render(null, place);
  document.body.replaceChildren();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Until what the click began is over: the clipboard answers later. */
async function clicked(button: HTMLElement | null): Promise<void> {
  await act(async () => {
    button?.click();
    await vi.advanceTimersByTimeAsync(0);
  });
}

function show(text: string, host: PanelHost = {}): void {
  act(() =>
    render(
      <HostContext.Provider value={host}>
        <Markdown text={text} />
      </HostContext.Provider>,
      place,
    ),
  );
}

test("finished blocks keep their nodes while the text grows", () => {
  show("# Head\n\nfirst *one*\n\n- a\n- b");
  const nodes = [...place.querySelectorAll("h2, p, em, ul, li")];
  show("# Head\n\nfirst *one*\n\n- a\n- b\n- c");
  for (const node of nodes) expect(place.contains(node)).toBe(true);
  show("# Head\n\nfirst *one*\n\n- a\n- b\n- c\n\nend\n\nand");
  for (const node of nodes) expect(place.contains(node)).toBe(true);
  expect(place.textContent).toBe("Headfirst onea\nb\nc\nendand".replaceAll("\n", ""));
});

test("code keeps its box from the first line to the last, and has colours when it is closed", () => {
  show("text\n\n```python\nx = 1\n");
  show("text\n\n```python\nx = 1\nimport y\n");
  const box = place.querySelector(".acp-codeblock");
  expect(box?.querySelector("code")?.textContent).toBe("x = 1\nimport y\n");
  expect(place.querySelector(".acp-hl-keyword")).toBeNull();
  show("text\n\n```python\nx = 1\nimport y\n```\n");
  expect(place.querySelector(".acp-codeblock")).toBe(box);
  expect(place.querySelector(".acp-hl-keyword")?.textContent).toBe("import");
  expect(box?.querySelector("pre")?.textContent).toBe("x = 1\nimport y");
});

test("a pause completes the text: links defined later, code without an end", () => {
  show("a [b]\n\nc\n\n");
  show("a [b]\n\nc\n\n[b]: https://b.example\n\n```python\nimport x\n");
  expect(place.querySelector("a")).toBeNull();
  act(() => void vi.advanceTimersByTime(1000));
  expect(place.querySelector("a")?.getAttribute("href")).toBe("https://b.example");
  expect(place.querySelector(".acp-hl-keyword")?.textContent).toBe("import");
});

test("code is copied whole, and the button says so for a while", async () => {
  const writeText = vi.fn(() => Promise.resolve());
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  const code = "x = 1\n".repeat(2000);
  show(`\`\`\`python\n${code}\`\`\``);
  const button = place.querySelector<HTMLButtonElement>(".acp-copy");
  expect(button?.getAttribute("aria-label")).toBe("Copy code");
  await clicked(button);
  expect(writeText).toHaveBeenCalledWith(code.slice(0, -1));
  expect(button?.textContent).toBe("Copied");
  act(() => void vi.advanceTimersByTime(2000));
  expect(button?.textContent).toBe("Copy");
});

test("without a clipboard it is copied by a selection; a failure is shown", async () => {
  vi.stubGlobal("navigator", {});
  const copied: string[] = [];
  let allowed = true;
  document.execCommand = () => {
    copied.push(document.querySelector("textarea")?.value ?? "");
    return allowed;
  };
  act(() => render(<CopyButton text={() => "abc"} what="it" />, place));
  const button = place.querySelector("button");
  await clicked(button);
  expect([copied, button?.textContent]).toEqual([["abc"], "Copied"]);
  expect(document.querySelector("textarea")).toBeNull();
  allowed = false;
  await clicked(button);
  expect(button?.textContent).toBe("Copy failed");
});

test("a cell is offered only if one can be inserted, also for code in a list", () => {
  const text = "- x\n  ```r\n  y <- 1\n  ```\n";
  const buttons = () => [...place.querySelectorAll("button")].map((each) => each.textContent);
  show(text);
  expect(buttons()).toEqual(["Copy"]);
  const insert = vi.fn();
  show(text, { insert });
  expect(buttons()).toEqual(["Insert as cell below", "Copy"]);
  place.querySelector("button")?.click();
  expect(insert).toHaveBeenCalledWith("y <- 1", "r");
});

test("each formula is typeset once", () => {
  const typeset = vi.fn((element: HTMLElement) => {
    element.replaceChildren(Object.assign(document.createElement("b"), { textContent: "typeset" }));
  });
  show("It is $x$ for $5.\n\n$$\ny\n$$\n\n$\\href{x}{y}$", { typeset });
  expect(typeset.mock.calls.length).toBe(2);
  expect(place.querySelectorAll(".acp-math b").length).toBe(2);
  expect(place.textContent).toContain("$\\href{x}{y}$");
  show("It is $x$ for $5.\n\n$$\ny\n$$\n\n$\\href{x}{y}$ and more", { typeset });
  expect(typeset.mock.calls.length).toBe(2);
});

test("without a working typesetter, formulas are shown as written", () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  show("$x^2$");
  expect(place.querySelector(".acp-math")?.textContent).toBe("$x^2$");
  show("$y^2$", {
    typeset: () => {
      throw new Error("none");
    },
  });
  expect(place.querySelector(".acp-math")?.textContent).toBe("$y^2$");
});

test("terminal output: colours, dropped lines, and a copy of everything", async () => {
  const writeText = vi.fn(() => Promise.resolve());
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  const draw = (text: string) => act(() => render(<TerminalText text={text} />, place));
  draw("\x1b[31mred\x1b[0m\n10%\r");
  const red = place.querySelector(".acp-ansi-1");
  draw("\x1b[31mred\x1b[0m\n10%\r100%\n");
  expect(place.querySelector(".acp-ansi-1")).toBe(red);
  expect(place.querySelector("pre")?.textContent).toBe("red\n100%\n");
  await clicked(place.querySelector("button"));
  expect(writeText).toHaveBeenCalledWith("red\n100%\n");
  draw("line\n".repeat(5000));
  expect(place.textContent).toContain("… 2,950 earlier lines");
});
