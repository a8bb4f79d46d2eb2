// The switch for notifications, in the panel's menu.

import { useContext, useState } from "preact/hooks";
import type { MenuEntry } from "./header_menu";
import { HostContext } from "./host";
import type { Notifying } from "./host";

const WANTED = "Notify me when this tab is hidden";

const LABELS: Record<Notifying, string> = {
  on: WANTED,
  off: WANTED,
  unsupported: "Notifications: not in this browser",
  blocked: "Notifications: blocked in the browser's settings",
};

export function useNotifying(): MenuEntry[] {
  const { notifications } = useContext(HostContext);
  const [, setShown] = useState<Notifying>("off"); // draws again; another panel may have changed it
  if (!notifications) return [];
  const now = notifications.state();
  const entry = {
    id: "notify",
    label: LABELS[now],
    checked: now === "on",
    disabled: now === "unsupported" || now === "blocked",
    run: () => void notifications.set(now !== "on").then(setShown, console.error),
  };
  return [entry];
}
