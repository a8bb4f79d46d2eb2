import { render } from "preact";
import { expect, test, vi } from "vitest";
import type { RunContent } from "../src/types";
import { HostContext } from "../src/view/host";
import type { PanelHost } from "../src/view/host";
import type { FileHost } from "../src/view/locations";
import { RunView, stateOf } from "../src/view/run";

const RUN: RunContent = {
  type: "run",
  run_id: "run-1",
  code: "print(1)",
  status: "ok",
  seconds: 1.5,
  outputs: [],
  cells: [],
  notes: [],
};

function drawn(run: Partial<RunContent>, host: PanelHost = {}): HTMLElement {
  const el = document.createElement("div");
  const view = <RunView run={{ ...RUN, ...run }} />;
  render(<HostContext.Provider value={host}>{view}</HostContext.Provider>, el);
  return el;
}

test("a run shows its code, its outputs with colours, and its result", () => {
  const el = drawn({
    outputs: [
      { type: "stream", name: "stdout", text: "\x1b[31mred\x1b[0m\n" },
      { type: "error", name: "ValueError", message: "no", traceback: "Traceback\nValueError: no" },
    ],
  });
  expect(el.querySelector(".acp-codeblock code")?.textContent).toBe("print(1)");
  expect(el.querySelector(".acp-ansi span span")?.textContent).toBe("red");
  expect(el.querySelector('[data-stream="error"]')?.textContent).toContain("ValueError: no");
  expect(el.querySelector(".acp-run-end")?.textContent).toBe("ran in 1.5 s");
});

test("figures are images, tables are tables, and their texts are only texts", () => {
  const el = drawn({
    outputs: [
      {
        type: "display",
        text: "<Figure>",
        image: { type: "image", data: "AAAA", mime_type: "image/png" },
      },
      {
        type: "display",
        text: "x",
        image: { type: "image", data: "<svg/>", mime_type: "image/svg+xml" },
      },
      {
        type: "display",
        text: "frame",
        table: [
          ["", "a"],
          ["0", "<img src=x onerror=alert(1)>"],
        ],
      },
    ],
  });
  expect(el.querySelectorAll("img").length).toBe(1);
  expect(el.querySelector("td:last-child")?.textContent).toBe("<img src=x onerror=alert(1)>");
});

test("each cell has its own state and outputs", () => {
  const el = drawn({
    code: "",
    cells: [
      {
        id: "a1",
        status: "ok",
        source: "x",
        execution_count: 4,
        outputs: [{ type: "stream", name: "stdout", text: "one" }],
      },
      { id: "b2", status: "waiting", source: "y", outputs: [] },
    ],
  });
  const [first, second] = el.querySelectorAll(".acp-run-cell");
  expect(first?.querySelector(".acp-run-cell-head")?.textContent).toBe("Cell [4]✓completed");
  expect(first?.textContent).toContain("one");
  expect(second?.querySelector(".acp-run-cell-head")?.textContent).toBe("Cell b2○pending");
});

test("cells are shown once, and are not inserted again", () => {
  const insert = vi.fn();
  const cells = [{ id: "a1", status: "ok", source: "x = 1", outputs: [] }];
  const el = drawn({ code: "x = 1", cells }, { insert });
  expect(el.textContent?.match(/x = 1/g)).toHaveLength(1);
  expect([...el.querySelectorAll("button")].map((it) => it.textContent)).toEqual(["Copy"]);
});

test("the cell of a run opens in the notebook", () => {
  const show = vi.fn();
  const files = { show } as unknown as FileHost;
  const cells = [{ id: "a1", status: "ok", source: "x", outputs: [] }];
  const link = drawn({ cells }, { files }).querySelector("button");
  link?.click();
  expect(show).toHaveBeenCalledWith(["a1"], link);
});

test("a run is inserted with its outputs, as a notebook's file has them", () => {
  const insert = vi.fn();
  const image = { type: "image", data: "AAAA", mime_type: "image/png" } as const;
  const table = [
    ["", "a"],
    ["0", "<b>"],
  ];
  const outputs: RunContent["outputs"] = [
    { type: "stream", name: "stdout", text: "one\n" },
    { type: "display", text: "<Figure>", image },
    { type: "display", text: "frame", table },
    { type: "error", name: "ValueError", message: "no", traceback: "Traceback\nValueError: no" },
  ];
  drawn({ outputs }, { insert }).querySelector("button")?.click();
  const html =
    '<table border="1" class="dataframe"><thead><tr><th></th><th>a</th></tr></thead>' +
    "<tbody><tr><td>0</td><td>&lt;b&gt;</td></tr></tbody></table>";
  expect(insert).toHaveBeenCalledWith("print(1)", "python", [
    { output_type: "stream", name: "stdout", text: "one\n" },
    {
      output_type: "display_data",
      data: { "image/png": "AAAA", "text/plain": "<Figure>" },
      metadata: {},
    },
    {
      output_type: "display_data",
      data: { "text/html": html, "text/plain": "frame" },
      metadata: {},
    },
    {
      output_type: "error",
      ename: "ValueError",
      evalue: "no",
      traceback: ["Traceback", "ValueError: no"],
    },
  ]);
});

test("what still runs is inserted without outputs", () => {
  const insert = vi.fn();
  const outputs: RunContent["outputs"] = [{ type: "stream", name: "stdout", text: "one\n" }];
  drawn({ outputs, status: "running" }, { insert }).querySelector("button")?.click();
  expect(insert).toHaveBeenCalledWith("print(1)", "python");
});

test("a stopped run does not show the interrupt as an error", () => {
  const outputs: RunContent["outputs"] = [
    { type: "error", name: "KeyboardInterrupt", message: "", traceback: "\nKeyboardInterrupt\n" },
  ];
  expect(drawn({ outputs, status: "interrupted" }).textContent).not.toContain("KeyboardInterrupt");
  expect(drawn({ outputs, status: "error" }).textContent).toContain("KeyboardInterrupt");
});

test("of a run that did not begin the note says why", () => {
  const el = drawn({ status: "busy", notes: ["Nothing was run: the kernel is busy."] });
  expect(el.querySelector(".acp-run-end")).toBeNull();
  expect(el.textContent).toContain("Nothing was run: the kernel is busy.");
});

test.each([
  ["waiting", "not run"],
  ["ok", "ran in 1.5 s"],
  ["busy", "not run: the kernel was busy"],
  ["error", "failed after 1.5 s"],
  ["interrupted", "stopped after 1.5 s"],
  ["running", "running for 1.5 s"],
])("%s reads %s", (status, words) => {
  expect(stateOf({ ...RUN, status })).toBe(words);
});

test("a short time is shown as such, and a run that the kernel lost as unfinished", () => {
  expect(stateOf({ ...RUN, seconds: 0 })).toBe("ran in less than 0.1 s");
  expect(stateOf({ ...RUN, status: "running" }, true)).toBe("not finished: the kernel is gone");
});

test("output stays at its end until the reader scrolls away", () => {
  const height = vi.spyOn(Element.prototype, "scrollHeight", "get").mockReturnValue(900);
  const el = document.createElement("div");
  const show = (text: string) =>
    render(<RunView run={{ ...RUN, outputs: [{ type: "stream", name: "stdout", text }] }} />, el);
  show("one\n");
  const box = el.querySelector("pre.acp-ansi")!;
  expect(box.scrollTop).toBe(900);
  height.mockReturnValue(1800);
  show("one\ntwo\n");
  expect(box.scrollTop).toBe(1800);
  box.scrollTop = 100;
  box.dispatchEvent(new Event("scroll"));
  show("one\ntwo\nthree\n");
  expect(box.scrollTop).toBe(100);
  height.mockRestore();
});

test("a function shows its arguments as a table, with long ones folded, and its result", () => {
  const long = JSON.stringify("x".repeat(500));
  const el = drawn({
    code: "",
    function: "forecast",
    arguments: [
      ["city", '"Oslo"'],
      ["text", long],
    ],
    outputs: [{ type: "display", text: "12 °C" }],
  });
  const rows = [...el.querySelectorAll(".acp-arguments tr")];
  expect(rows.map((row) => row.querySelector("th")?.textContent)).toEqual(["city", "text"]);
  expect(rows[0]?.querySelector("td code")?.textContent).toBe('"Oslo"');
  expect(rows[1]?.querySelector("details")?.open).toBe(false);
  expect(rows[1]?.querySelector("details code")?.textContent).toBe(long);
  expect(el.querySelector(".acp-codeblock")).toBeNull();
  expect(el.querySelector(".acp-run-text")?.textContent).toBe("12 °C");
});

test("progress is a bar with its text while the function runs, and not after", () => {
  const call = { code: "", function: "train", progress: 0.4, progress_text: "epoch 2 of 5" };
  const el = drawn({ ...call, status: "running" });
  const bar = el.querySelector('[role="progressbar"]');
  expect(bar?.getAttribute("aria-valuenow")).toBe("40");
  expect(el.querySelector(".acp-progress")?.textContent).toBe("40 %epoch 2 of 5");
  expect(drawn({ ...call, status: "ok" }).querySelector(".acp-progress")).toBeNull();
  const words = drawn({
    code: "",
    function: "train",
    progress_text: "starting",
    status: "running",
  });
  expect(words.querySelector('[role="progressbar"]')).toBeNull();
  expect(words.querySelector(".acp-progress")?.textContent).toBe("starting");
});
