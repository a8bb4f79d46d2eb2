// What a hidden page notifies its user of, and that nothing of the conversation is in it.

import { afterEach, expect, test, vi } from "vitest";
import { attentionOf, LONG_S } from "../src/attention";
import { notifying, notifyWhenHidden, setNotifying } from "../src/notifications";
import type { Snapshot } from "../src/store";
import type { Item } from "../src/types";
import { makeStore, question, state, turn } from "./helpers";

function snapshot(...items: Item[]): Snapshot {
  const { store } = makeStore();
  store.receive({ t: "state", seq: 1, state: state(...items) });
  return store.snapshot;
}

const ended = (fields: object) => turn({ status: "done", seconds: LONG_S, ...fields });

test("the end of a long turn counts, and only once", () => {
  const [before, now] = [snapshot(turn()), snapshot(ended({}))];
  expect(attentionOf(before, now)?.text).toBe("Finished");
  expect(attentionOf(now, now)).toBeNull();
  expect(attentionOf(before, snapshot(ended({ status: "failed" })))?.text).toBe("Failed");
  expect(attentionOf(before, snapshot(ended({ seconds: LONG_S - 1 })))).toBeNull();
  expect(attentionOf(before, snapshot(ended({ stop_reason: "cancelled" })))).toBeNull();
});

test("a question counts when it opens, whatever the time", () => {
  const [before, now] = [snapshot(turn()), snapshot(turn(), question())];
  expect(attentionOf(before, now)?.text).toBe("Waiting for your permission");
  expect(attentionOf(now, snapshot(turn({ cancelling: true }), question()))).toBeNull();
});

test("what a page finds when it is loaded is no news", () => {
  expect(attentionOf({ ...snapshot(), link: "waiting" }, snapshot(turn(), question()))).toBeNull();
});

// ---- the browser

const shown: { title: string; body: string }[] = [];

class FakeNotification {
  static permission = "default";
  static requestPermission = vi.fn(async () => (FakeNotification.permission = "granted"));
  onclick: (() => void) | null = null;
  constructor(title: string, { body }: { body: string }) {
    shown.push({ title, body });
  }
  close(): void {}
}

afterEach(() => {
  vi.unstubAllGlobals();
  localStorage.clear();
  FakeNotification.permission = "default";
  FakeNotification.requestPermission.mockClear();
  shown.length = 0;
});

test("they are off until the user asks for them, and then remembered", async () => {
  vi.stubGlobal("Notification", FakeNotification);
  expect(notifying()).toBe("off");
  expect(FakeNotification.requestPermission).not.toHaveBeenCalled();
  expect(await setNotifying(true)).toBe("on");
  expect(FakeNotification.requestPermission).toHaveBeenCalledOnce();
  expect(await setNotifying(false)).toBe("off");
  FakeNotification.permission = "denied";
  expect(notifying()).toBe("blocked");
  vi.stubGlobal("Notification", undefined);
  expect(notifying()).toBe("unsupported");
});

test("a hidden page notifies once, with the agent and the kind of event", async () => {
  vi.stubGlobal("Notification", FakeNotification);
  await setNotifying(true);
  const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  const { store, frames } = makeStore();
  const controller = new AbortController();
  notifyWhenHidden(store, "s", controller.signal);
  const begin = state(turn());
  store.receive({
    t: "state",
    seq: 1,
    state: {
      ...begin,
      session: { ...begin.session, agent: { name: "demo", title: "Demo" } as never },
    },
  });
  frames.draw();
  store.receive({ t: "patches", seq: 2, patches: [["add", question()]] });
  frames.draw();
  store.receive({ t: "patches", seq: 3, patches: [] });
  frames.draw();
  expect(shown).toEqual([{ title: "Demo", body: "Waiting for your permission" }]);
  hidden.mockReturnValue(false);
  store.receive({ t: "patches", seq: 4, patches: [["add", question({ key: "k8", id: "q8" })]] });
  frames.draw();
  expect(shown).toHaveLength(1);
  controller.abort();
  hidden.mockRestore();
});
