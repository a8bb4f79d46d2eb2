// The settings of the session: permissions, grants, servers, undo; and which of them are in the header.

import { beforeEach, expect, test } from "vitest";
import type { ConfigOption, Header, SettingsMessage } from "../src/types";
import { turn } from "./helpers";
import { press, settled, shown, wired } from "./mounted";

beforeEach(() => document.body.replaceChildren());

const SETTINGS: SettingsMessage = {
  t: "settings",
  permissions: "ask",
  given: "ask",
  kinds: [],
  rules: false,
  grants: [],
  servers: [],
  undo: true,
  switches_undo: true,
};

async function opened(settings: Partial<SettingsMessage> = {}, session: Partial<Header> = {}) {
  const made = shown([turn({ status: "done" })], null, { status: "idle", ...session });
  wired(made);
  const receive = (change: Partial<SettingsMessage>) => {
    made.store.receive({ ...SETTINGS, ...settings, ...change });
    made.frames.draw();
  };
  receive({});
  made.find("[data-acp-settings]")?.click();
  await settled();
  const radio = (policy: string) =>
    made.find<HTMLInputElement>(`[data-acp-permission="${policy}"]`);
  return { ...made, receive, radio };
}

test("the header always says who answers, and opens the choices", async () => {
  const made = shown([turn()], null);
  made.store.receive({ ...SETTINGS, permissions: "allow", rules: true });
  made.frames.draw();
  const chip = made.find("[data-acp-permissions=allow]");
  expect(chip?.textContent).toContain("Permissions:Allow everything + rules");
  expect(made.find("[data-acp-settings-open]")).toBeNull();
  chip?.click();
  await settled();
  expect(made.find("[data-acp-settings-open]")).not.toBeNull();
});

test("opening them asks for the newest, and Escape closes them and nothing else", async () => {
  const { emit, find } = await opened();
  expect(emit).toHaveBeenCalledWith({ t: "settings" });
  const event = press(find("[data-acp-settings-open]"), "Escape");
  await settled();
  expect(event.defaultPrevented).toBe(true);
  expect(find("[data-acp-settings-open]")).toBeNull();
  expect(document.activeElement).toBe(find("[data-acp-settings]"));
});

test("a choice is pending until the kernel confirms it", async () => {
  const { radio, emit, receive, find } = await opened();
  expect(radio("ask")?.checked).toBe(true);
  radio("reject")?.click();
  expect(emit).toHaveBeenLastCalledWith({ t: "permissions", policy: "reject" });
  expect(radio("reject")?.closest("fieldset")?.disabled).toBe(true);
  receive({ permissions: "reject" });
  expect(radio("reject")?.closest("fieldset")?.disabled).toBe(false);
  expect(find("[data-acp-permissions]")?.textContent).toContain("Reject everything");
});

test("allowing everything needs a second click, and can be left", async () => {
  const { radio, emit, find } = await opened();
  const sent = () => emit.mock.calls.filter(([intent]) => intent.t === "permissions");
  radio("allow")?.click();
  await settled();
  expect(sent()).toEqual([]);
  find(".acp-confirm button:last-child")?.click();
  await settled();
  expect([find(".acp-confirm"), radio("ask")?.checked]).toEqual([null, true]);
  radio("allow")?.click();
  await settled();
  find("[data-acp-permission-confirm]")?.click();
  expect(sent()).toEqual([[{ t: "permissions", policy: "allow" }]]);
});

test("what Python has set is shown, and can be chosen again", async () => {
  const kinds = [["edit", "allow"]] as const;
  const { radio, emit, receive, el } = await opened({
    permissions: "kinds",
    given: "kinds",
    kinds,
  });
  expect(radio("given")?.checked).toBe(true);
  expect(el.textContent).toContain("edit allow");
  receive({ permissions: "ask" });
  radio("given")?.click();
  expect(emit).toHaveBeenLastCalledWith({ t: "permissions", policy: "given" });
});

test("a grant says what it allows and since when, and is revoked once", async () => {
  const grant = {
    id: "g1",
    allows: "Run <b>make</b> in /proj",
    holds: "always, in /proj",
    since: "2026-11-17T18:00:00+00:00",
  };
  const { find, emit, receive } = await opened({ grants: [grant] });
  const row = find("[data-acp-grant=g1]");
  expect(row?.textContent).toContain("Run <b>make</b> in /proj always, in /proj, since ");
  expect(row?.textContent).toContain("2026");
  const button = row?.querySelector("button");
  expect(button?.getAttribute("aria-label")).toBe("Revoke: Run <b>make</b> in /proj");
  button?.click();
  expect(emit).toHaveBeenLastCalledWith({ t: "revoke", grant: "g1" });
  expect(button?.disabled).toBe(true);
  receive({ grants: [] });
  expect(find("[data-acp-grant]")).toBeNull();
});

test("servers, kernel tools and undo", async () => {
  const servers = [{ name: "files", type: "stdio", where: "npx", own: true }];
  const { find, emit } = await opened({ servers }, { kernel_tools: false });
  expect(find("[data-acp-server=files]")?.textContent).toBe(
    "files command npx, from your settings",
  );
  find("[data-acp-undo]")?.click();
  expect(emit).toHaveBeenLastCalledWith({ t: "checkpoints", on: false });
  find("[data-acp-kernel-tools]")?.click();
  expect(emit).toHaveBeenLastCalledWith({ t: "tools", on: true });
});

test("the agent's options have visible names, apart from our permissions", async () => {
  const option = (id: string, category: string): ConfigOption => ({
    ...{ id, category, name: `The ${id}`, type: "select", value: "ask" },
    choices: [{ value: "ask", name: "Ask" }],
  });
  const { el } = await opened({}, { config: [option("mode", "mode"), option("zeal", "other")] });
  const names = (place: string) =>
    [...el.querySelectorAll(`${place} .acp-option > span`)].map((it) => it.textContent);
  expect(names(".acp-header")).toEqual(["The mode"]);
  expect(names(".acp-settings")).toEqual(["The mode", "The zeal"]);
});
