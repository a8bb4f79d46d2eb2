// Runs a command in a terminal of the Jupyter server: creates it with the server's API, types into it over its
// socket, and opens it with the host's command for links. Knows nothing of agents.

import type { LiveContext } from "./live";
import type { Host } from "./types";

/** Opens a terminal and types the command into it; returns the reason if it cannot. */
export type RunInTerminal = (command: string, from: Element) => Promise<string | null>;

/** What we use of the host's settings. */
interface Settings {
  readonly baseUrl?: string;
  readonly wsUrl?: string;
  readonly token?: string;
}

interface ServerContext extends LiveContext {
  readonly _manager?: LiveContext["_manager"] & { readonly serverSettings?: Settings };
}

/** How long to wait for the shell's prompt: the terminal shows what is typed earlier twice. */
const READY_MS = 5000;

export function terminalOf(context: LiveContext | null, host: Host): RunInTerminal | null {
  const settings = (context as ServerContext | null)?._manager?.serverSettings;
  const base = settings?.baseUrl?.replace(/\/?$/, "/");
  if (!settings || !base || host === "other") return null;
  return async (command, from) => {
    try {
      const name = await createTerminal(base, settings);
      await typeCommand(base, settings, name, command);
      if (host === "jupyterlab") openByCommand(name, from);
      else if (!window.open(`${base}terminals/${name}`, "_blank"))
        return `The browser blocked the new tab: ${base}terminals/${name}`;
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
}

async function createTerminal(base: string, { token }: Settings): Promise<string> {
  const xsrf = /(?:^|;\s*)_xsrf=([^;]+)/.exec(document.cookie)?.[1];
  const answer = await fetch(`${base}api/terminals`, {
    method: "POST",
    credentials: "same-origin",
    headers: {
      "Content-Type": "application/json",
      ...(xsrf ? { "X-XSRFToken": decodeURIComponent(xsrf) } : {}),
      ...(token ? { Authorization: `token ${token}` } : {}),
    },
    body: "{}",
  });
  if (!answer.ok) throw new Error("This server has no terminals");
  const { name } = (await answer.json()) as { name?: unknown };
  if (typeof name !== "string" || !/^[\w-]+$/.test(name))
    throw new Error("The server did not create a terminal");
  return name;
}

function typeCommand(
  base: string,
  settings: Settings,
  name: string,
  command: string,
): Promise<void> {
  const ws = (settings.wsUrl ?? base.replace(/^http/, "ws")).replace(/\/?$/, "/");
  const query = settings.token ? `?token=${encodeURIComponent(settings.token)}` : "";
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${ws}terminals/websocket/${name}${query}`);
    const send = () => {
      clearTimeout(timer);
      socket.onmessage = null;
      socket.send(JSON.stringify(["stdin", `${command}\r`]));
      setTimeout(() => socket.close(), 1000); // once it is sent; the host opens its own socket
      resolve();
    };
    const timer = setTimeout(send, READY_MS);
    socket.onmessage = ({ data }) => {
      if (String(data).startsWith('["stdout"')) send(); // the shell has shown its prompt
    };
    socket.onerror = () => {
      clearTimeout(timer);
      reject(new Error("Could not connect to the terminal"));
    };
  });
}

/** JupyterLab runs the command that a clicked element names; in an untrusted document it asks the user first. */
function openByCommand(name: string, from: Element): void {
  const link = (from.parentElement ?? document.body).appendChild(document.createElement("span"));
  link.dataset["commandlinkerCommand"] = "terminal:open";
  link.dataset["commandlinkerArgs"] = JSON.stringify({ name });
  link.click();
  link.remove();
}
