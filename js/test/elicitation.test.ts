import { beforeEach, expect, test, vi } from "vitest";
import type { ElicitationItem, FormField, Item } from "../src/types";
import { draftsOf, filled } from "../src/view/form";
import { CLICK_MS } from "../src/view/input_guard";
import { Places } from "../src/view/places";
import { reason } from "../src/view/display_text";
import { turn } from "./helpers";
import { press, settled, shown, wired } from "./mounted";

let now = 0;

beforeEach(() => {
  document.body.replaceChildren();
  vi.restoreAllMocks();
  now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
});

const field = (it: Partial<FormField> & Pick<FormField, "name" | "type">): FormField => ({
  required: false,
  choices: [],
  secret: false,
  ...it,
});

const FIELDS = [
  { name: "name", type: "string", title: "Name", required: true, least: 3, most: 5 },
  { name: "runs", type: "integer", title: "Runs", least: 1, most: 9, default: 4 },
  { name: "rate", type: "number" },
  {
    name: "model",
    type: "select",
    required: true,
    choices: [
      { value: "a", name: "Plan A", description: "the first" },
      { value: "b", name: "Plan B" },
    ],
  },
  {
    name: "tags",
    type: "multiselect",
    least: 1,
    choices: [
      { value: "x", name: "X" },
      { value: "y", name: "Y" },
    ],
    default: ["y"],
  },
  { name: "loud", type: "boolean", title: "Loud" },
].map(field);

function form(fields: Partial<ElicitationItem> = {}): Item {
  return {
    key: "k9",
    type: "elicitation",
    turn: "k1",
    id: "e1",
    mode: "form",
    message: "I need a few things",
    fields: FIELDS,
    status: "open",
    ...fields,
  };
}

function asked(fields: Partial<ElicitationItem> = {}, places = new Places()) {
  const made = shown([turn(), form(fields)], "t1", {}, {}, places);
  wired(made);
  now = CLICK_MS;
  const of = (name: string) => made.find(`[data-acp-field="${name}"]`);
  const input = <T extends HTMLElement = HTMLInputElement>(
    name: string,
    query = "input, textarea",
  ) => of(name)?.querySelector<T>(query) ?? null;
  const write = async (name: string, text: string) => {
    const field = input(name);
    if (!field) throw new Error(`no field ${name}`);
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await settled();
  };
  const click = async (el: HTMLElement | null | undefined) => {
    el?.click();
    await settled();
    made.frames.draw();
  };
  const submit = () => click(made.find("[data-acp-submit]"));
  const sent = () => made.emit.mock.calls.map(([it]) => it);
  const wrong = (name: string) => of(name)?.querySelector(".acp-invalid")?.textContent;
  return { ...made, of, input, write, click, submit, sent, wrong };
}

test("a form is filled in and sent once", async () => {
  const { write, input, click, submit, sent, find } = asked();
  await write("name", "abc");
  await write("rate", " 0.5 ");
  await click(input("model", "input[type=radio]"));
  await click(input("loud"));
  await submit();
  await submit();
  expect(sent()).toEqual([
    {
      t: "elicit",
      elicitation: "k9",
      action: "accept",
      values: { name: "abc", runs: 4, rate: 0.5, model: "a", tags: ["y"], loud: true },
    },
  ]);
  expect(find<HTMLButtonElement>("[data-acp-submit]")?.disabled).toBe(true);
  expect(find(".acp-elicitation")?.textContent).toContain("Sending…");
});

test("an error is shown at its field, which gets the focus; typing removes it", async () => {
  const { write, submit, sent, wrong, input } = asked();
  await write("runs", "1.5");
  await write("rate", "fast");
  await submit();
  expect(sent()).toEqual([]);
  expect([wrong("name"), wrong("runs"), wrong("rate"), wrong("model"), wrong("tags")]).toEqual([
    "this field is required",
    "it must be a whole number",
    "it must be a number",
    "this field is required",
    undefined,
  ]);
  expect(document.activeElement).toBe(input("name"));
  expect(input("name")?.getAttribute("aria-invalid")).toBe("true");
  await write("name", "ab");
  expect(wrong("name")).toBeUndefined();
  await submit();
  expect(wrong("name")).toBe("at least 3 characters");
});

test("the kernel's errors are shown at their fields, and can be corrected", async () => {
  const { write, input, click, submit, store, frames, wrong, sent } = asked();
  await write("name", "abc");
  await click(input("model", "input[type=radio]"));
  await submit();
  store.receive({ t: "invalid", elicitation: "k9", errors: { name: "it does not match ^x" } });
  frames.draw();
  await settled();
  expect(wrong("name")).toBe("it does not match ^x");
  expect(input("name")?.value).toBe("abc");
  await write("name", "xyz");
  expect(wrong("name")).toBeUndefined();
  await submit();
  expect(sent().length).toBe(2);
});

test("Enter in a field submits, Shift+Enter does not; keys do not reach the notebook", async () => {
  const { write, input, click, sent } = asked();
  await write("name", "abc");
  await click(input("model", "input[type=radio]"));
  const outside = vi.fn();
  document.body.addEventListener("keydown", outside);
  press(input("name"), "Enter", { shiftKey: true });
  press(input("name"), "Enter");
  press(input("runs"), "a");
  document.body.removeEventListener("keydown", outside);
  expect(sent().length).toBe(1);
  expect(outside).not.toHaveBeenCalled();
});

test.each([
  ["decline", "[data-acp-decline]"],
  ["cancel", "[data-acp-dismiss]"],
])("it can be answered %s", async (action, button) => {
  const { click, find, sent } = asked();
  await click(find(button));
  expect(sent()).toEqual([{ t: "elicit", elicitation: "k9", action }]);
});

test("an optional choice can be cleared", async () => {
  const field = { ...(FIELDS[3] as FormField), required: false };
  const { click, input, find, submit, sent } = asked({ fields: [field] });
  await click(input("model", "input[type=radio]"));
  await click(find(".acp-ticks .acp-link"));
  await submit();
  expect(sent()).toMatchObject([{ values: { model: null } }]);
});

test("many choices are a drop-down list; a secret is not shown", async () => {
  const choices = [..."abcdefgh"].map((it) => ({ value: it, name: it }));
  const { of } = asked({
    fields: [
      { name: "one", type: "select", choices },
      { name: "pin", type: "string", secret: true },
    ].map(field),
  });
  expect(of("one")?.querySelectorAll("option").length).toBe(9);
  expect(of("pin")?.querySelector("input")?.type).toBe("password");
});

test("an unknown type is shown as received, without an input", () => {
  const { of, find } = asked({
    fields: [field({ name: "odd", type: "unknown", required: true, raw: { type: "hologram" } })],
    problem: "this client cannot fill in “odd”, which is needed",
  });
  expect(of("odd")?.textContent).toContain('"type": "hologram"');
  expect(of("odd")?.querySelector("input, textarea")).toBeNull();
  expect(find("[data-acp-submit]")).toBeNull();
  expect(find("[data-acp-decline]")).not.toBeNull();
});

test("hostile names and titles stay text", async () => {
  const fields = [
    { name: "__proto__", type: "string", title: "<img src=x onerror=alert(1)>" },
    { name: "constructor", type: "string", description: "<b>x</b>\u202e" },
  ].map(field);
  const { el, write, submit, sent, wrong } = asked({
    fields,
    title: "<b>t</b>",
    message: "<i>m</i>",
  });
  expect(el.querySelector("img, b, i")).toBeNull();
  expect(el.textContent).toContain("<i>m</i>");
  expect(el.textContent).toContain("‹U+202E›");
  expect(wrong("constructor")).toBeUndefined();
  await write("__proto__", "polluted");
  await submit();
  const [intent] = sent() as unknown as [{ values: object }];
  expect(Object.entries(intent.values)).toEqual([
    ["__proto__", "polluted"],
    ["constructor", null],
  ]);
  expect(JSON.stringify(intent.values)).toContain("polluted");
});

test("all fields that the kernel sends are drawn", () => {
  const fields = Array.from({ length: 200 }, (_, at) => field({ name: `f${at}`, type: "string" }));
  expect(asked({ fields }).el.querySelectorAll("textarea").length).toBe(200);
});

// ---- addresses

const URL = "https://accounts.example.org@evil.example:8443/sign-in?next=https://good.example";

test("an address is shown in full with its host emphasised, and opened only by a click", async () => {
  const { find, click, sent, el } = asked({
    mode: "url",
    url: URL,
    host: "evil.example:8443",
    fields: [],
  });
  const address = find(".acp-address");
  expect(address?.textContent).toBe(URL);
  expect(address?.querySelector("strong")?.textContent).toBe("evil.example");
  expect(el.querySelector("iframe, img")).toBeNull();
  const open = find<HTMLAnchorElement>("[data-acp-open]");
  expect([open?.getAttribute("href"), open?.target, open?.rel]).toEqual([
    URL,
    "_blank",
    "noopener noreferrer",
  ]);
  expect(sent()).toEqual([]);
  el.addEventListener("click", (event) => event.preventDefault()); // nothing is to be loaded here
  await click(open);
  expect(sent()).toEqual([{ t: "elicit", elicitation: "k9", action: "accept" }]);
});

test.each(["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x"])(
  "%s is never a link",
  (url) => {
    const { find, el } = asked({ mode: "url", url, problem: "only http", fields: [] });
    expect(el.querySelector("a")).toBeNull();
    expect(find(".acp-address")?.textContent).toBe(url);
    expect(find("[data-acp-decline]")).not.toBeNull();
  },
);

test("the result of an address", () => {
  const settledItem = { mode: "url", url: URL, status: "accepted", by: "user", fields: [] };
  const { find, patch } = asked(settledItem);
  expect(find(".acp-elicited")?.textContent).toContain("Opened by youwaiting for completion");
  patch(["set", "k9", ["completed"], true]);
  expect(find(".acp-badge")?.textContent).toBe("done");
  expect(find(".acp-elicited a")).toBeNull();
});

// ---- settled

test("answers are shown with their titles, who answered, and why not", () => {
  const { find, patch } = asked({
    status: "accepted",
    by: "user",
    values: { name: "abc", model: "b", tags: ["x", "y"], loud: true, pin: "••••" },
  });
  expect(find(".acp-values")?.textContent).toBe("NameabcmodelPlan BtagsX, YLoudyespin••••");
  expect(find("[data-acp-submit]")).toBeNull();
  patch(
    ["set", "k9", ["status"], "declined"],
    ["set", "k9", ["by"], "policy"],
    ["set", "k9", ["reason"], "nobody can be asked"],
    ["set", "k9", ["values"], {}],
  );
  expect(find(".acp-elicited")?.textContent).toContain(
    "Declined by your rules: nobody can be asked",
  );
});

test("an open form means that the turn waits for the user", () => {
  const { find, patch } = asked();
  expect(find(".acp-status")?.textContent).toContain("Waiting for you");
  expect(find("[aria-live=assertive]")?.textContent).toMatch(/^The agent asks: /);
  patch(["set", "k9", ["status"], "cancelled"]);
  expect(find(".acp-status")?.textContent).not.toContain("Waiting for you");
});

test("an answer is pending until the state shows it settled", async () => {
  const { click, find, patch, store } = asked();
  await click(find("[data-acp-decline]"));
  expect(store.snapshot.sent.has("k9")).toBe(true);
  patch(["set", "k9", ["status"], "declined"]);
  expect(store.snapshot.sent.has("k9")).toBe(false);
});

test.each(["accepted", "declined", "cancelled"])(
  "what was typed into a form is forgotten when it is %s",
  async (status) => {
    const places = new Places();
    const { write, patch } = asked({}, places);
    await write("name", "abc");
    expect([...places.forms.keys()]).toEqual(["k9"]);
    patch(["set", "k9", ["status"], status]);
    await vi.waitFor(() => expect(places.forms.size).toBe(0));
  },
);

test("a cleared field is omitted, without its default", () => {
  const drafts = new Map(draftsOf(FIELDS)).set("runs", "").set("tags", []).set("name", "abc");
  drafts.set("model", "a");
  const { values, wrong } = filled(FIELDS, drafts);
  expect([values["runs"], values["tags"], wrong.size]).toEqual([null, null, 0]);
});

test("elements that use keys keep them from the host", () => {
  const { el } = asked();
  for (const control of el.querySelectorAll<HTMLElement>("input, textarea, select")) {
    control.focus();
    expect(control.getAttribute("data-lm-suppress-shortcuts")).toBe("true");
  }
  const button = el.querySelector<HTMLElement>("[data-acp-decline]");
  button?.focus();
  expect(button?.hasAttribute("data-lm-suppress-shortcuts")).toBe(false); // Ctrl+S still saves
});

test("errors are shown without the name of the method", () => {
  expect(reason("session/prompt: rate limit exceeded")).toBe("rate limit exceeded");
  expect(reason("Login: authenticate: wrong\npassword")).toBe("Login: wrong ⏎ password");
  expect(reason("the session/prompt: as it is")).toBe("the session/prompt: as it is");
});

test.each([
  ["form", "submit", {}],
  ["form", "decline", {}],
  ["address", "open", { mode: "url", url: "https://example.com/x", host: "example.com" }],
] as const)("a click as the %s appears does not %s, and the question says so", async (...row) => {
  const [, button, fields] = row;
  const { emit, find } = asked({ fields: [], ...fields });
  now = CLICK_MS - 1;
  const click = new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 });
  find(`[data-acp-${button}]`)?.dispatchEvent(click);
  await settled();
  expect(click.defaultPrevented).toBe(true);
  expect(emit).not.toHaveBeenCalled();
  expect(find(".acp-ignored")?.textContent).toMatch(/^Click ignored: this question just appeared/);
});
