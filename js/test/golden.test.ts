// @vitest-environment node

import { describe, expect, test } from "vitest";
import { readFileSync } from "node:fs";
import { applyPatches, EMPTY } from "../src/patches";
import type { State, WirePatch } from "../src/types";

interface Case {
  name: string;
  steps: { event: string; patches: WirePatch[]; state: State }[];
}

const text = readFileSync(new URL("../../tests/data/golden.json", import.meta.url), "utf-8");
const { cases } = JSON.parse(text) as { cases: Case[] };

describe("the golden file, as Python wrote it", () => {
  test.each(cases)("$name", ({ steps }) => {
    let state = EMPTY;
    for (const step of steps) {
      state = applyPatches(state, step.patches);
      expect(state, step.event).toEqual(step.state);
    }
  });

  test.each(cases)("$name, in one batch", ({ steps }) => {
    const all = steps.flatMap(({ patches }) => patches);
    expect(applyPatches(EMPTY, all)).toEqual(steps.at(-1)?.state);
  });
});
