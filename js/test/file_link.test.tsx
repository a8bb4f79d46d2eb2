import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test, vi } from "vitest";
import type { Prefixes } from "../src/types";
import { HostContext } from "../src/view/host";
import { PanelContext } from "../src/view/panel";
import type { Panel } from "../src/view/panel";
import { Path } from "../src/view/path";
import type { FileHost } from "../src/view/locations";
import { settled } from "./mounted";
import { soon } from "./helpers";

beforeEach(() => document.body.replaceChildren());

const files = {
  notebook: () => "work/a.ipynb",
  address: (path: string) => `http://host/lab/tree/${path}`,
  open: vi.fn<FileHost["open"]>(() => Promise.resolve(null)),
  show: vi.fn<FileHost["show"]>(() => true),
};
const PREFIXES: Prefixes = [["/srv", ""]];

beforeEach(() => {
  files.open.mockClear();
  files.show.mockClear();
});

const PANEL: Panel = {
  emit: () => undefined,
  link: "live",
  signIn: false,
  folder: "/srv/work",
  places: null,
  split: false,
};

function drawn(
  path: string,
  more: { at?: number; cells?: string[]; places?: Prefixes | null; host?: boolean } = {},
) {
  const { places = PREFIXES, host = true, ...rest } = more;
  const el = document.body.appendChild(document.createElement("div"));
  act(() =>
    render(
      <HostContext.Provider value={host ? { files } : {}}>
        <PanelContext.Provider value={{ ...PANEL, places }}>
          <Path path={path} {...rest} />
        </PanelContext.Provider>
      </HostContext.Provider>,
      el,
    ),
  );
  const link = el.querySelector("a");
  let prevented = false;
  link?.addEventListener("click", (event) => {
    prevented = event.defaultPrevented;
    event.preventDefault(); // nobody goes there
  });
  /** Whether the browser is kept from following it. */
  const click = (init: MouseEventInit = {}): boolean => {
    link?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...init }));
    return prevented;
  };
  return { el, link, click };
}

test("a file of the server is a link, which opens it at the line", async () => {
  const { link, click, el } = drawn("x.py", { at: 3 });
  expect(link?.textContent).toBe("x.py:3");
  expect(link?.href).toBe("http://host/lab/tree/work/x.py");
  const around = vi.fn();
  el.addEventListener("click", around);
  expect(click()).toBe(true);
  expect(files.open).toHaveBeenCalledWith("work/x.py", 3);
  expect(around).not.toHaveBeenCalled(); // the card around it does not open or close
  await settled();
  expect(el.querySelector("[role=alert]")).toBeNull();
});

test("a click for a new tab is left to the browser", () => {
  const { click } = drawn("x.py");
  for (const init of [{ ctrlKey: true }, { metaKey: true }, { shiftKey: true }])
    expect(click(init)).toBe(false);
  expect(files.open).not.toHaveBeenCalled();
});

test("the reason is shown if it was not opened", async () => {
  files.open.mockResolvedValueOnce("The server does not find it");
  const { click, el } = drawn("x.py");
  click();
  await soon(() =>
    expect(el.querySelector("[role=alert]")?.textContent).toBe("The server does not find it"),
  );
});

test("the open notebook is not opened again: its cell is shown", () => {
  const { click, link } = drawn("/srv/work/a.ipynb", { cells: ["b"] });
  click();
  expect(files.show).toHaveBeenCalledWith(["b"], link);
  expect(files.open).not.toHaveBeenCalled();
});

test.each([
  ["outside of the server's root", "/etc/passwd", {}, /Outside the Jupyter server's root/],
  ["as long as it is not known", "x.py", { places: null }, /^x\.py$/],
  ["in another host", "x.py", { host: false }, /^x\.py$/],
])("%s, a path is text that can be copied", (_, path, more, title) => {
  const { el, link } = drawn(path, more);
  expect(link).toBeNull();
  expect(el.querySelector("[title]")?.getAttribute("title")).toMatch(title);
  expect(el.querySelector("button")?.getAttribute("aria-label")).toBe(`Copy path ${path}`);
  expect(el.textContent).toBe(path);
});

test("a path from an agent does not become an address without proof", () => {
  for (const path of ["javascript:alert(1)", "//evil.example/x", "https://evil.example", "\u202ex"])
    for (const { link } of [drawn(path)])
      if (link) expect(link.href).toMatch(/^http:\/\/host\/lab\/tree\//);
});
