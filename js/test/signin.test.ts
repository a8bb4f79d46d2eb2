// The sign-in that an agent wants: its ways, what is under way, what went wrong; in a terminal.

import { afterEach, describe, expect, it, vi } from "vitest";
import type { SignIn } from "../src/types";
import { settled, shown } from "./mounted";

afterEach(() => document.body.replaceChildren());

const WANTED: SignIn = {
  methods: [
    { id: "in", name: "Log in", description: "By a page", type: "agent" },
    { id: "key", name: "By <b>key</b>", type: "agent" },
    {
      id: "tty",
      name: "In a terminal",
      type: "terminal",
      command: "agent --login",
      run: "sh /x/sign-in-2.sh",
    },
  ],
};

function buttons(el: HTMLElement): string[] {
  return [...el.querySelectorAll("[data-acp-signin] button")].map((it) => it.textContent ?? "");
}

describe("the ways to sign in", () => {
  it("are buttons, in the session and in their own view", () => {
    for (const view of [null, "sign-in"]) {
      const { el, emit } = shown([], view, { sign_in: WANTED, status: "signed_out" });
      expect(buttons(el)).toEqual(["Log in", "By <b>key</b>", "Done, try again", "Copy"]);
      el.querySelector<HTMLElement>("[data-acp-signin-method=key]")?.click();
      expect(emit).toHaveBeenCalledWith({ t: "sign_in", method: "key" });
      expect(el.querySelector("[data-acp-signin-method=tty]")?.textContent).toContain(
        "sh /x/sign-in-2.sh",
      );
      el.remove();
    }
  });

  it("wait while one is in progress, which can be stopped", () => {
    const { el, emit, find } = shown([], null, { sign_in: { ...WANTED, trying: "in" } });
    expect(find<HTMLButtonElement>("[data-acp-signin-method=key]")?.disabled).toBe(true);
    expect(buttons(el)).toContain("Log in…");
    find("[data-acp-signin-stop]")?.click();
    expect(emit).toHaveBeenCalledWith({ t: "sign_in", method: null });
  });

  it("say what went wrong, and are gone when it is done", () => {
    const { find, patch, el } = shown([], null, { sign_in: { ...WANTED, error: "no\npassword" } });
    expect(find("[data-acp-signin-error]")?.textContent).toBe("no ⏎ password");
    patch(["set", "session", ["sign_in"], null]);
    expect(el.querySelector("[data-acp-signin]")).toBeNull();
  });

  it("run in a terminal if the host has one, and report errors", async () => {
    const terminal = vi.fn(() => Promise.resolve("This server has no terminals" as string | null));
    const { el, emit } = shown([], null, { sign_in: WANTED }, { terminal });
    const open = [...el.querySelectorAll("button")].find(
      (it) => it.textContent === "Open a terminal",
    );
    open?.click();
    await settled();
    expect(terminal).toHaveBeenCalledWith("sh /x/sign-in-2.sh", open);
    expect(el.textContent).toContain("This server has no terminals");
    el.querySelector<HTMLElement>("[data-acp-signin-done]")?.click();
    expect(emit).toHaveBeenLastCalledWith({ t: "signed_in" });
  });

  it("leave a note below the cell that waited", () => {
    const done = shown([], "sign-in", { status: "idle", agent: { name: "demo" } });
    expect(done.find("[data-acp-signed=true]")?.textContent).toBe("demo: signed in.");
    const left = shown([], "sign-in", { status: "closed", agent: { name: "demo" } });
    expect(left.find("[data-acp-signed=false]")?.textContent).toBe("demo: not signed in.");
  });
});
