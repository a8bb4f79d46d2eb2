// What a session or a turn is doing, in words: the same in the header and in the status line. Pure.

import type { Link } from "../store";
import { isAsking, isRunning } from "../turns";
import type { Turn } from "../turns";
import type { Header, Item, RateLimit, TurnItem } from "../types";
import { line, named, reason, spoken, stopReason } from "./display_text";

export interface Words {
  text: string;
  /** Whose move it is; decides the colour. */
  move: "you" | "agent" | "nobody" | "trouble";
  /** Whether it is work, whose time counts. */
  works: boolean;
}

const you = (text = "Waiting for you"): Words => ({ text, move: "you", works: false });
const agent = (text: string, works = false): Words => ({ text, move: "agent", works });
const nobody = (text: string): Words => ({ text, move: "nobody", works: false });
const trouble = (text: string): Words => ({ text, move: "trouble", works: false });

const SIGN_IN = "Waiting for you to sign in";

/** The words for a session. */
export function sessionWords(header: Header, link: Link, turn: Turn | null): Words {
  if (link === "gone" || link === "offline") return trouble("Disconnected");
  if (header.sign_in && header.status !== "closed") return you(SIGN_IN);
  if (header.status === "reconnecting") return agent("Reconnecting…");
  if (turn?.start && isRunning(turn.start)) return turnWords(turn.start, turn.items, link, false);
  switch (header.status ?? "starting") {
    case "starting":
      return agent("Starting…");
    case "restarting":
      return agent("Restarting…");
    case "signed_out":
      return you(SIGN_IN);
    case "idle":
      return nobody("Ready");
    case "working": // the turn is about to come
      return agent("Waiting for the agent");
    case "stuck":
      return trouble("The agent does not respond");
    case "lost":
      return trouble("The agent lost the session");
    case "disconnected":
      return trouble("Connection lost");
    case "dead":
      return trouble("The agent ended"); // the banner says why
    default:
      return nobody(spoken(header.status ?? ""));
  }
}

/** The words for a turn. `signIn`: the agent requires a sign-in. */
export function turnWords(
  start: TurnItem,
  items: readonly Item[],
  link: Link,
  signIn: boolean,
): Words {
  switch (start.status) {
    case "running":
      if (link === "gone") return trouble("Interrupted: the kernel is gone");
      if (start.cancelling)
        return agent(start.limit ? `Stopping: ${line(start.limit)}` : "Stopping…");
      if (signIn) return you(SIGN_IN);
      if (start.rate_limit) return agent(rateLimitText(start.rate_limit));
      if (isAsking(items)) return you();
      return items.some(isOfAgent) ? agent("Working", true) : agent("Waiting for the agent", true);
    case "done":
      return nobody(
        start.limit
          ? `Stopped: ${line(start.limit)}`
          : stopReason(start.stop_reason) + named(start.stopped_by),
      );
    case "failed":
      return trouble(`Failed: ${reason((start.error ?? "no reason given").split("\n")[0] ?? "")}`);
    case "abandoned":
      return trouble(
        `Abandoned: ${line(start.limit ?? start.error ?? "the agent did not end this turn")}`,
      );
    default:
      return nobody(spoken(start.status));
  }
}

function isOfAgent(item: Item): boolean {
  return item.type !== "notice" && !(item.type === "message" && item.role === "user");
}

function rateLimitText({ attempt, of, until }: RateLimit): string {
  const when = until === undefined ? "" : ` until ${clockTime(until)}`;
  return attempt > 0
    ? `Rate limited${when}, then attempt ${attempt} of ${of}`
    : `Rate limited${when}`;
}

/** The time of day of a moment in seconds, as the user writes it. */
function clockTime(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}
