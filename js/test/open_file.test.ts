import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveContext } from "../src/live";
import { openingOf } from "../src/open_file";
import { SHOWN_MS } from "../src/reveal_cell";
import { soon } from "./helpers";

const get = vi.fn();
const handleLink = vi.fn();
const manager = { rendermime: { linkHandler: { handleLink } } };

function context(path = "work/a.ipynb", ids = ["a", "b", "c"]): LiveContext {
  const cells = ids.map((id) => ({ id }));
  return {
    path,
    model: { dirty: false, sharedModel: { cells } },
    _manager: { contents: { get }, serverSettings: { baseUrl: "http://host/base/" } },
  } as unknown as LiveContext;
}

beforeEach(() => {
  document.body.replaceChildren();
  get.mockReset().mockResolvedValue({ type: "file" });
  handleLink.mockReset();
  vi.stubGlobal(
    "open",
    vi.fn(() => window),
  );
});
afterEach(() => void vi.unstubAllGlobals());

test("JupyterLab opens a tab, at the line", async () => {
  const clicked = vi.fn();
  handleLink.mockImplementation((node: HTMLElement) => node.addEventListener("click", clicked));
  const files = openingOf(manager, context(), "jupyterlab");
  expect(await files?.open("work/x y.py", 12)).toBeNull();
  expect(handleLink.mock.calls[0]?.slice(1)).toEqual(["work/x y.py", "#line=11"]);
  expect(clicked).toHaveBeenCalledOnce();
  await files?.open("t.csv", 3);
  await files?.open("b.ipynb", 3);
  await files?.open("c.py");
  expect(handleLink.mock.calls.slice(1).map((call) => call[2])).toEqual(["#row=3", "", ""]);
  expect(open).not.toHaveBeenCalled();
});

test("Notebook opens a page; its own handler, which closes what is open, is not called", async () => {
  const files = openingOf(manager, context(), "notebook");
  expect(await files?.open("work/x?.py", 12)).toBeNull();
  expect(open).toHaveBeenCalledWith("http://host/base/edit/work/x%3F.py", "_blank");
  expect(handleLink).not.toHaveBeenCalled();
  expect(files?.address("b.ipynb")).toBe("http://host/base/notebooks/b.ipynb");
});

test("a folder opens in its own page", async () => {
  get.mockResolvedValue({ type: "directory" });
  await openingOf(manager, context(), "jupyterlab")?.open("work");
  expect(open).toHaveBeenCalledWith("http://host/base/lab/tree/work", "_blank");
});

test("says why: the server cannot find it, or the browser blocks the tab", async () => {
  const files = openingOf(manager, context(), "notebook");
  vi.mocked(open).mockReturnValue(null);
  expect(await files?.open("a.py")).toContain("browser");
  get.mockRejectedValue(new Error("404"));
  expect(await files?.open("a.py")).toContain("cannot find this file");
});

test("a drive stays before the path", async () => {
  const files = openingOf(manager, context("Drive:work/a.ipynb"), "jupyterlab");
  expect(files?.notebook()).toBe("work/a.ipynb");
  await files?.open("b.py");
  expect(get.mock.calls[0]?.[0]).toBe("Drive:b.py");
});

test("no other host opens files", () => {
  expect(openingOf(manager, context(), "other")).toBeNull();
  expect(openingOf(manager, null, "jupyterlab")).toBeNull();
  expect(openingOf({}, { ...context(), _manager: {} } as LiveContext, "notebook")).toBeNull();
});

/** A notebook in the page that has these cells of it. */
function notebook(places: readonly number[]): HTMLElement {
  const made = document.body.appendChild(document.createElement("div"));
  made.className = "jp-Notebook";
  for (const place of places) {
    const cell = made.appendChild(document.createElement("div"));
    cell.className = "jp-Cell";
    cell.dataset["windowedListIndex"] = `${place}`;
    cell.scrollIntoView = vi.fn();
  }
  return made;
}

const revealed = () =>
  document.querySelector<HTMLElement>(".acp-revealed")?.dataset["windowedListIndex"];

test("a cell is scrolled into view, and highlighted for a moment", () => {
  vi.useFakeTimers();
  const from = notebook([0, 1, 2]).appendChild(document.createElement("a"));
  const files = openingOf(manager, context(), "jupyterlab");
  expect(files?.show(["gone", "c"], from)).toBe(true);
  expect(revealed()).toBe("2");
  vi.advanceTimersByTime(SHOWN_MS);
  expect(revealed()).toBeUndefined();
  expect(files?.show([], from)).toBe(true);
  expect(revealed()).toBe("0");
  vi.useRealTimers();
});

test("a user who scrolls or shows another cell is not pulled back", () => {
  vi.useFakeTimers();
  const made = notebook([0, 1, 2]);
  const files = openingOf(manager, context(), "jupyterlab");
  const [first, , third] = [...made.querySelectorAll<HTMLElement>(".jp-Cell")];
  const times = (cell?: HTMLElement) => vi.mocked(cell!.scrollIntoView).mock.calls.length;
  files?.show(["c"], made);
  vi.advanceTimersToNextFrame();
  expect(times(third)).toBe(2);
  files?.show(["a"], made);
  vi.advanceTimersToNextFrame();
  expect([times(third), times(first)]).toEqual([2, 2]);
  window.dispatchEvent(new Event("wheel"));
  vi.advanceTimersToNextFrame();
  expect(times(first)).toBe(2);
  vi.useRealTimers();
});

test("a notebook with only some of its cells in the page is scrolled to it", async () => {
  const made = notebook([0, 1]);
  openingOf(manager, context(), "notebook")?.show(["c"], made);
  expect(revealed()).toBeUndefined();
  const third = notebook([]).appendChild(document.createElement("div"));
  third.className = "jp-Cell";
  third.dataset["windowedListIndex"] = "2";
  made.appendChild(third);
  await soon(() => expect(revealed()).toBe("2"));
});

test("without a visible notebook nothing is shown", () => {
  expect(openingOf(manager, context(), "jupyterlab")?.show(["a"], document.body)).toBe(false);
});
