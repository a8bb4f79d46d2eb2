import { describe, expect, it, test } from "vitest";
import { indexOf } from "../src/open_file";
import { absolute, cellsOf, changedCells, served } from "../src/view/locations";
import { tool } from "./mounted";

const PREFIXES = [
  ["/home/me/linked", "proj"],
  ["/srv/root", ""],
] as const;

describe("a path", () => {
  test.each([
    ["/srv/root/a/b.py", "a/b.py"],
    ["/srv/root", ""],
    ["/home/me/linked/c.py", "proj/c.py"],
    ["/home/me/linked", "proj"],
    ["/srv/rooted/a.py", null],
    ["/etc/passwd", null],
  ])("%s is the server's path of %s", (path, name) => {
    expect(served(path, PREFIXES)).toBe(name);
  });

  it("with a server for the whole machine", () => {
    expect(served("/etc/hosts", [["/", ""]])).toBe("etc/hosts");
  });

  test.each([
    ["a.py", "/x", "/x/a.py"],
    ["../a.py", "/x/y", "/x/a.py"],
    ["/x/../../etc/./passwd", "/x", "/etc/passwd"],
    ["/x//a.py", "", "/x/a.py"],
  ])("%s in %s is %s", (path, folder, whole) => {
    expect(absolute(path, folder)).toBe(whole);
  });
});

describe("the cell that a call is about", () => {
  it("is named by the tool's input", () => {
    expect(cellsOf(tool({ raw_input: { cell_id: "abc", source: "x" } }))).toEqual(["abc"]);
    expect(cellsOf(tool({ raw_input: { cell_number: 2 } }))).toEqual(["cell-2"]);
    expect(cellsOf(tool({ raw_input: ["cell_id"] }))).toEqual([]);
    const place = { path: "n.ipynb", line: 9, cell: "nine" };
    expect(cellsOf(tool({ raw_input: { cell_id: "abc" } }), place)).toEqual(["abc", "nine"]);
    expect(cellsOf(tool({ raw_input: { cell_id: 7 } }))).toEqual([]);
  });

  const before = "# %% a\nx = 1\n\n# %% [markdown] b\ntext\n\n# %% c\nz = 3\n\n";
  const diff = (after: string, path = "/n.ipynb") => ({
    type: "diff" as const,
    path,
    old_text: before,
    new_text: after,
  });

  it("is the first that differs in a notebook's diff", () => {
    expect(changedCells(diff(before.replace("text", "other")))).toEqual(["b", "b"]);
    expect(changedCells(diff(before.replace("# %% c", "# %% new\ny = 2\n\n# %% c")))).toEqual([
      "new",
      "c",
    ]);
    expect(changedCells(diff(before.slice(0, before.indexOf("# %% c"))))).toEqual(["b", "c"]);
    expect(changedCells(diff("", "/n.py"))).toEqual([]);
  });

  it("is found by its id, else by its position", () => {
    const ids = ["x", "cell-0", "z"];
    expect(indexOf(["gone", "z"], ids)).toBe(2);
    expect(indexOf(["cell-0"], ids)).toBe(1);
    expect(indexOf(["cell-2"], ids)).toBe(2);
    expect(indexOf(["#0"], ids)).toBe(0);
    expect(indexOf(["cell-3", "nothing"], ids)).toBe(-1);
    expect(indexOf([], ids)).toBe(-1);
  });
});
