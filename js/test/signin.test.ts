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
      expect(buttons(el)).toEqual(["Log in", "By <b>key</b>", "Copy", "Try again"]);
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

  it("show code between backticks as code, and markup as text", () => {
    const methods = [{ id: "in", name: "Log in", description: "Run `a <b>` now", type: "agent" }];
    const { el } = shown([], null, { sign_in: { methods, about: "A_KEY, or an account" } });
    const section = el.querySelector("[data-acp-signin]");
    expect(section?.querySelector("code")?.textContent).toBe("a <b>");
    expect(section?.querySelector("b")).toBeNull();
    expect(section?.textContent).toContain("It signs in with: A_KEY, or an account");
  });

  it("leave a note below the cell that waited", () => {
    const done = shown([], "sign-in", { status: "idle", agent: { name: "demo" } });
    expect(done.find("[data-acp-signed=true]")?.textContent).toBe("demo: signed in.");
    const left = shown([], "sign-in", { status: "closed", agent: { name: "demo" } });
    expect(left.find("[data-acp-signed=false]")?.textContent).toBe("demo: not signed in.");
  });
});

describe("a key", () => {
  const KEY = "sk-typed-4711";
  const wanted: SignIn = { methods: [], keys: [{ name: "A_KEY", label: "Key of <b>A</b>" }] };

  function typed() {
    const made = shown([], null, { sign_in: wanted, status: "signed_out" });
    const field = made.find<HTMLInputElement>("[data-acp-signin-key=A_KEY] input");
    if (!field) throw new Error("no field");
    field.value = KEY;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    return { ...made, field };
  }

  function submit(field: HTMLInputElement) {
    field.form?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  }

  it("is typed unseen, named by its variable, and kept by no browser", () => {
    const { field, el } = typed();
    expect([field.type, field.getAttribute("autocomplete")]).toEqual(["password", "off"]);
    expect(el.querySelector(`label[for="${field.id}"]`)?.textContent).toContain("A_KEY");
    expect(el.querySelector("[data-acp-signin-key] b")).toBeNull();
  });

  it("is sent once, and is nowhere in the page afterwards", async () => {
    const { field, el, emit, store } = typed();
    submit(field);
    submit(field);
    await settled();
    expect(emit.mock.calls).toEqual([[{ t: "use_key", name: "A_KEY", key: KEY }]]);
    expect(field.value).toBe("");
    expect(document.documentElement.outerHTML).not.toContain(KEY);
    expect(JSON.stringify([...store.snapshot.sent, store.draft])).not.toContain(KEY);
    expect(el.outerHTML).not.toContain(KEY);
  });

  it("cannot be sent while an attempt is in progress, which can be stopped", () => {
    const sign_in = { ...wanted, trying: "A_KEY" };
    const { find, emit } = shown([], null, { sign_in });
    expect(find<HTMLInputElement>("[data-acp-signin-key] input")?.disabled).toBe(true);
    find("[data-acp-signin-stop]")?.click();
    expect(emit).toHaveBeenCalledWith({ t: "sign_in", method: null });
  });
});
