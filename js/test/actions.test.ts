import { beforeEach, expect, test } from "vitest";
import type { Action } from "../src/types";
import { question, soon, turn } from "./helpers";
import { settled, shown, tool } from "./mounted";

beforeEach(() => document.body.replaceChildren());

function asks(actions: readonly Action[], fields: object = {}, call: object = {}) {
  return shown([turn(), tool(call), question({ tool: "k5", actions, ...fields })]);
}

const action = (el: Element) => el.querySelector(".acp-question .acp-action")?.textContent;

test("a command shows its exact line, its folder and its environment", () => {
  const { el, find } = asks([
    {
      type: "command",
      line: "make test\nrm -rf build",
      cwd: "/home/me/project",
      env: [
        ["LD_PRELOAD", "/tmp/evil.so"],
        ["PATH", "/tmp:/bin"],
      ],
    },
  ]);
  expect(find(".acp-exact-command")?.textContent).toBe("make test\nrm -rf build\n");
  expect([...el.querySelectorAll(".acp-where")].map((it) => it.textContent)).toEqual([
    "in /home/me/project",
    "with LD_PRELOAD=/tmp/evil.so",
    "with PATH=/tmp:/bin",
  ]);
});

test("a file whose content cannot be shown is not called new", () => {
  const write = { type: "write", path: "/w/a.bin", new_text: "x" } as const;
  const { find } = asks([{ ...write, note: "Replaces a file that cannot be shown as text" }]);
  expect(find(".acp-action .acp-badge")).toBeNull();
  expect(action(asks([write]).el)).toContain("new file");
});

test("a call of an MCP server's tool names both, and says if only its title does", () => {
  const named = { type: "mcp", server: "search", tool: "query" } as const;
  const other = { type: "other", kind: "other", input: "{}" } as const;
  const sure = asks([{ ...named, sure: true }, other]);
  expect(action(sure.el)).toContain("search/query");
  expect(action(sure.el)).not.toContain("title");
  document.body.replaceChildren();
  expect(action(asks([named, other]).el)).toContain("proves nothing");
});

test.each([
  ["spaces", `ls${" ".repeat(2100)}; rm -rf /`, "‹2,100 spaces›"],
  ["empty lines", `ls${"\n".repeat(231)}rm -rf /`, "‹230 empty lines›"],
])("the end of a text with many %s is visible", (_, line, marker) => {
  const { find } = asks([{ type: "command", line, cwd: "/w" }]);
  const text = find(".acp-exact-command")?.textContent ?? "";
  expect(text).toContain(marker);
  expect(text).toContain("rm -rf /");
  expect(text.length).toBeLessThan(60);
});

test("no line and no number of lines is cut", async () => {
  const line = `echo ${"x".repeat(5000)}END`;
  const lines = Array.from({ length: 1500 }, (_, at) => `line ${at}`).join("\n");
  const { find } = asks([
    { type: "command", line: `${line}\n${lines}`, cwd: "/w" },
    { type: "other", kind: "browse", input: `${lines}\n${line}` },
  ]);
  await soon(() => {
    expect(find("[data-acp-action=command] .acp-exact")?.textContent).toContain("line 1499");
    expect(find("[data-acp-action=other] .acp-exact")?.textContent).toContain("xEND");
  });
  expect(find("[data-acp-action=command] .acp-exact")?.textContent).toContain("xEND");
});

test("no line of what would be written is cut either", async () => {
  const text = Array.from({ length: 900 }, (_, at) => `${at} ${"y".repeat(3000)}!`).join("\n");
  const { el, find } = asks([{ type: "write", path: "a.txt", new_text: text }]);
  await soon(() => expect(el.querySelectorAll(".acp-row").length).toBe(900));
  expect(find(".acp-more")).toBeNull();
  expect([...el.querySelectorAll(".acp-line")].every((it) => it.textContent?.endsWith("!\n"))).toBe(
    true,
  );
});

test("omitted equal lines of a change can be shown", async () => {
  const before = Array.from({ length: 50 }, (_, at) => `same ${at}`).join("\n");
  const { el, find } = asks([
    { type: "write", path: "a.txt", old_text: before, new_text: `${before}\nnew` },
  ]);
  expect(el.textContent).not.toContain("same 3\n");
  find(".acp-gap > button")?.click();
  await settled();
  expect(el.textContent).toContain("same 3\n");
});

test("empty lines in a change are counted, and what follows them is visible", () => {
  const { el } = asks([{ type: "write", path: "a", new_text: `a\n${"\n".repeat(300)}b\n` }]);
  expect(el.querySelectorAll(".acp-row").length).toBe(3);
  expect(el.querySelector(".acp-marker")?.textContent).toBe("‹300 empty lines›");
});

test("a link shows its target", () => {
  const { el } = asks([
    { type: "write", path: "notes.txt", target: ".git/config", old_text: "a\n", new_text: "b\n" },
  ]);
  expect(el.querySelector(".acp-action-head")?.textContent).toContain(
    "Writenotes.txt→ which is really .git/config",
  );
});

test.each<[Action, string]>([
  [{ type: "read", path: "/etc/passwd" }, "Read/etc/passwd"],
  [{ type: "delete", path: "a", target: "b" }, "Deletea→ which is really b"],
  [{ type: "move", path: "a" }, "Movea"],
  [{ type: "fetch", url: "https://a.example/\u202e" }, "Fetchhttps://a.example/‹U+202E›"],
  [{ type: "details", input: '{"a": 1}' }, 'The agent also says:{"a": 1}\n'],
  [{ type: "teleport" } as unknown as Action, '{\n  "type": "teleport"\n}\n'],
])("%j", (it, text) => {
  expect(action(asks([it]).el)).toBe(text);
});

test("a call without an action says that allowing it covers nothing", () => {
  expect(action(asks([{ type: "other", kind: "switch_mode", input: "{}" }]).el)).toMatch(
    /^Switch mode{}\nThis request names no file and no command/,
  );
});

test("a file without its content says that nothing is covered", () => {
  expect(action(asks([{ type: "edit", path: "a.py" }]).el)).toMatch(
    /^Edita.pyThe content is not shown, so allowing this does not cover it/,
  );
});

test("a question that describes nothing says so", () => {
  const none = (fields: object) => shown([turn(), question(fields)]).find(".acp-actions-none");
  expect(none({ actions: [] })?.textContent).toMatch(/^This request names no file and no command/);
  expect(none({ answers: [] })).not.toBeNull();
  expect(none({})).toBeNull(); // an older kernel's
});

test("changed metadata of a notebook is a table", () => {
  const { el } = asks([
    {
      type: "notebook",
      path: "a.ipynb",
      old_text: "# %% a\n1\n",
      new_text: "# %% a\n1\n",
      metadata: [
        { where: "notebook", name: "kernelspec", before: "python3", after: "evil\u200b" },
        { where: "cell 2", name: "tags", after: '["hide"]' },
      ],
    },
  ]);
  const cells = [...el.querySelectorAll(".acp-metadata tbody tr")].map((row) =>
    [...row.children].map((it) => it.textContent?.trim()),
  );
  expect(cells).toEqual([
    ["notebook", "kernelspec", "python3", "evil‹U+200B›"],
    ["cell 2", "tags", "none", '["hide"]'],
  ]);
  expect(el.querySelector(".acp-diff-rows")).toBeNull();
});

test("what the question shows is not drawn again in its call", () => {
  const diff = { type: "diff", path: "a.py", old_text: "a\n", new_text: "b\n" } as const;
  const call = { command: "make", content: [diff, { ...diff, path: "other.py" }] };
  const write: Action = { ...diff, type: "write" };
  const { el, patch } = asks([write], {}, call);
  const diffs = () =>
    [...el.querySelectorAll(".acp-tool-body .acp-diff-head")].map((it) => it.textContent);
  expect(diffs().length).toBe(1);
  expect(diffs()[0]).toContain("other.py");
  expect(el.querySelector(".acp-command")).toBeNull();
  patch(
    ["set", "k7", ["status"], "answered"],
    ["set", "k7", ["actions"], [{ type: "write", path: "a.py", target: "b.py" }]],
  );
  expect(diffs().length).toBe(2);
  expect(el.querySelector(".acp-command")?.textContent).toBe("make");
  expect(el.querySelector(".acp-covered .acp-action")?.textContent).toBe(
    "Writea.py→ which is really b.py",
  );
});

test("no command is derived from a tool's input", () => {
  const { el } = shown([turn(), tool({ kind: "execute", raw_input: { command: "ls" } })]);
  expect(el.querySelector(".acp-command")).toBeNull();
});
