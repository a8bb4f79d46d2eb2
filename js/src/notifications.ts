// Browser notifications for a tab that is not in sight, if the user wants them: off by default, remembered by the
// browser for all sessions.

import { attentionOf } from "./attention";
import type { Snapshot, Store } from "./store";
import type { Notifying } from "./view/host";

const SETTING = "acp_notebook.notify";

export function notifying(): Notifying {
  if (typeof Notification === "undefined") return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  return Notification.permission === "granted" && remembered() ? "on" : "off";
}

/** Turns them on or off; the browser asks the user for permission, if it has not before. */
export async function setNotifying(on: boolean): Promise<Notifying> {
  if (on && notifying() === "off" && Notification.permission !== "granted")
    await Notification.requestPermission();
  try {
    localStorage.setItem(SETTING, on ? "on" : "off");
  } catch {
    return notifying(); // storage is blocked: they stay off
  }
  return notifying();
}

function remembered(): boolean {
  try {
    return localStorage.getItem(SETTING) === "on";
  } catch {
    return false;
  }
}

/** Notifies the user of what happens in the session while the page is hidden. */
export function notifyWhenHidden(store: Store, session: string, signal: AbortSignal): void {
  let before: Snapshot | null = null;
  const leave = store.subscribe((now) => {
    const event = before && document.hidden ? attentionOf(before, now) : null;
    before = now;
    if (!event || notifying() !== "on") return;
    const agent = now.state.session.agent;
    show(agent?.title ?? agent?.name ?? "Agent", event.text, `${session} ${event.key}`);
  });
  signal.addEventListener("abort", leave);
}

/** Longer names are cut. */
const NAME_CHARS = 60;

function show(agent: string, body: string, tag: string): void {
  try {
    // With a tag, several tabs that show the session notify once.
    const shown = new Notification(agent.slice(0, NAME_CHARS), { body, tag });
    shown.onclick = () => {
      shown.close();
      window.focus();
      toQuestion();
    };
  } catch (error) {
    console.debug("acp_notebook: no notification", error); // phones allow them to service workers only
  }
}

function toQuestion(): void {
  const open = ":is([data-acp-question], [data-acp-elicitation])[data-status='open']";
  const question = [...document.querySelectorAll<HTMLElement>(open)].find(
    (it) => it.getClientRects().length > 0,
  );
  question?.scrollIntoView({ block: "center" });
  question?.focus({ preventScroll: true });
}
