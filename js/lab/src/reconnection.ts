// When the server was out of reach, as while a hub's proxy restarts, the host looks for the kernel again after 10 to
// 30 s only. The page looks more often, and has the host connect as soon as the server answers. (The host's own timer
// cannot be stopped: it connects once more then, which takes a fraction of a second.)

import { shell } from "../../src/shell";
import type { DocumentContext, Kernel } from "./host";
import type { Sessions } from "./sessions";

const LOOK_MS = 1000;
/** Later, if the server stays away. */
const RARELY_MS = 10_000;
const OFTEN = 60;

export function reconnectSoon(sessions: Sessions): void {
  const looking = new WeakSet<Kernel>();
  sessions.changed.add(() => {
    for (const { store, manager } of shell().sessions.values()) {
      if (store.snapshot.link !== "offline") continue;
      const { context } = (manager ?? {}) as { context?: DocumentContext };
      const kernel = context?.sessionContext.session?.kernel;
      if (!kernel || looking.has(kernel)) continue;
      looking.add(kernel);
      void reconnect(kernel)
        .catch((error: unknown) => console.debug("acp_notebook:", error))
        .finally(() => looking.delete(kernel));
    }
  });
}

/** Ends when the kernel is connected, or the host has given up. */
export async function reconnect(kernel: Kernel): Promise<void> {
  for (let looks = 0; ; looks++) {
    await new Promise((resolve) => setTimeout(resolve, looks < OFTEN ? LOOK_MS : RARELY_MS));
    if (kernel.isDisposed || kernel.connectionStatus !== "connecting") return;
    if (await isThere(kernel)) return kernel.reconnect();
  }
}

async function isThere({ id, serverSettings }: Kernel): Promise<boolean> {
  const { baseUrl, token } = serverSettings;
  const headers = token ? { Authorization: `token ${token}` } : {};
  try {
    const address = `${baseUrl}api/kernels/${encodeURIComponent(id)}`;
    return (await fetch(address, { cache: "no-store", headers })).ok;
  } catch {
    return false;
  }
}
