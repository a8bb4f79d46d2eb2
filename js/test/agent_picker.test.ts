// The agent picker: what it lists, what a click asks for, and what a missing agent offers.

import { afterEach, describe, expect, it, vi } from "vitest";
import type { AgentChoice, PickedMessage, Picking } from "../src/types";
import { press, settled, shown } from "./mounted";

afterEach(() => document.body.replaceChildren());

function choice(name: string, more: Partial<AgentChoice> = {}): AgentChoice {
  const empty = { title: "", found: "", version: null, note: "", install: "", way: null, runs: "" };
  return { name, ...empty, ...more };
}

const DEMO = choice("demo", { found: "built in", version: "1.0" });
const GEMINI = choice("gemini", {
  title: "Gemini CLI",
  note: "not installed; npx can run it",
  install: "npm install -g gemini",
  version: "newest",
  way: "npx gemini",
  runs: "npx gemini gemini --acp",
});

async function opened() {
  const panel = vi.fn(() => Promise.resolve());
  const made = shown([], null, { agent: { name: "demo", offers: [] } }, { panel });
  made.find("[data-acp-more]")?.click();
  await settled();
  made.find("[data-acp-agents]")?.click();
  await settled();
  const asked = () => made.emit.mock.lastCall?.[0] as Picking;
  const answer = async (fields: Partial<PickedMessage>) => {
    made.store.receive({ t: "picked", rid: asked().rid, ...fields });
    made.frames.draw();
    await settled();
  };
  const click = async (name: string) => {
    const buttons = [...made.el.querySelectorAll("button")];
    buttons.find((it) => (it.getAttribute("aria-label") ?? it.textContent) === name)?.click();
    await settled();
  };
  return { ...made, panel, asked, answer, click };
}

describe("the agent picker", () => {
  it("starts an installed agent and shows its panel in this place", async () => {
    const it = await opened();
    expect(it.asked()).toMatchObject({ t: "agents" });
    await it.answer({ agents: [DEMO, GEMINI] });
    await it.click("Start demo");
    expect(it.asked()).toMatchObject({ t: "start_agent", agent: "demo", way: null, always: false });
    expect(it.el.textContent).toContain("Starting demo…");
    await it.answer({ model: "m2" });
    expect(it.panel).toHaveBeenCalledWith("m2", expect.anything(), expect.anything());
  });

  it("runs a package only after it has shown which one", async () => {
    const it = await opened();
    await it.answer({ agents: [DEMO, GEMINI] });
    const before = it.emit.mock.calls.length;
    await it.click("Get gemini");
    expect(it.emit.mock.calls.length).toBe(before);
    expect(it.find("[data-acp-agent-picker] pre")?.textContent).toBe(GEMINI.runs);
    expect(it.el.textContent).toContain("newest");
    it.find("input[type=checkbox]")?.click();
    await settled();
    await it.click("Run with npx");
    expect(it.asked()).toMatchObject({ agent: "gemini", way: "npx gemini", always: true });
  });

  it("shows an error and can be asked again", async () => {
    const it = await opened();
    await it.answer({ agents: [DEMO] });
    await it.click("Start demo");
    await it.answer({ error: "demo ended:\nno \u202enetwork" });
    expect(it.find("[role=alert]")?.textContent).toBe("demo ended:\nno ‹U+202E›network");
    await it.click("Start demo");
    expect(it.find("[role=alert]")).toBeNull();
  });

  it("closes with Escape: first the question, then the list", async () => {
    const it = await opened();
    await it.answer({ agents: [GEMINI] });
    await it.click("Get gemini");
    press(it.find(".acp-missing"), "Escape");
    await settled();
    expect(it.find(".acp-missing")).toBeNull();
    press(it.find("[data-acp-agent-picker]"), "Escape");
    await settled();
    expect(it.find("[data-acp-agent-picker]")).toBeNull();
  });

  it("offers only the install line where no package can be run", async () => {
    const it = await opened();
    await it.answer({ agents: [{ ...GEMINI, way: null, runs: "", note: "needs Node" }] });
    await it.click("Get gemini");
    expect(it.find("[data-acp-run-package]")).toBeNull();
    expect(it.find("[data-acp-copy-install]")).not.toBeNull();
    expect(it.el.textContent).toContain("needs Node");
  });
});
