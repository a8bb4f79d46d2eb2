// Sends the prompt of the newest turn again, if it failed.

import type { Sent } from "../store";
import { turnId } from "../turns";
import type { TurnItem } from "../types";
import { useActivity, usePanel } from "./panel";

const FAILED: ReadonlySet<string> = new Set(["failed", "abandoned"]);

export function TryAgain({ start, sent }: { start: TurnItem; sent: Sent | undefined }) {
  const { link, emit } = usePanel();
  const { newest } = useActivity();
  const asked = start.asked_by !== undefined; // its asker decides
  if (!FAILED.has(start.status) || newest !== start.key || asked || link === "gone") return null;
  return (
    <button
      type="button"
      data-acp-again=""
      disabled={link !== "live" || sent !== undefined}
      onClick={() => emit({ t: "again", turn: turnId(start) })}
    >
      Try again
    </button>
  );
}
