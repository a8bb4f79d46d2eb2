import { describe, expect, it } from "vitest";
import { relative } from "../src/view/locations";

describe("a path", () => {
  it("is shown relative to the session's folder", () => {
    expect(relative("/a/b/c.py", "/a/b")).toBe("c.py");
    expect(relative("/a/b/c.py", "/a/b/")).toBe("c.py");
    expect(relative("/a/b/c/d.py", "/a/b")).toBe("c/d.py");
  });

  it("is shown in full outside of it, even if the folder's name is a prefix", () => {
    expect(relative("/a/bc.py", "/a/b")).toBe("/a/bc.py");
    expect(relative("/a/b", "/a/b")).toBe("/a/b");
    expect(relative("/x/y", "")).toBe("/x/y");
  });

  it("hides nothing", () => {
    expect(relative("/a/\u202egnp.exe", "/a")).toBe("‹U+202E›gnp.exe");
  });
});
