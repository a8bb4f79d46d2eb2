import { expect, test, vi } from "vitest";
import { typesetOf } from "../src/typesetter";
import { soon } from "./helpers";

test("the host's typesetter is called as its own method", () => {
  const typesetter = {
    seen: [] as HTMLElement[],
    typeset(this: { seen: HTMLElement[] }, element: HTMLElement) {
      this.seen.push(element);
    },
  };
  const element = document.createElement("span");
  typesetOf({ rendermime: { latexTypesetter: typesetter } })?.(element);
  expect(typesetter.seen).toEqual([element]);
});

test.each([undefined, null, {}, { rendermime: {} }, { rendermime: { latexTypesetter: null } }])(
  "a host without one: %j",
  (manager) => expect(typesetOf(manager)).toBeUndefined(),
);

test("a later failure is only logged to the console", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const typeset = () => Promise.reject(new Error("no network"));
  typesetOf({ rendermime: { latexTypesetter: { typeset } } })?.(document.createElement("span"));
  await soon(() => expect(warn).toHaveBeenCalledOnce());
  warn.mockRestore();
});
