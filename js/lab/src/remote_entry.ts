// The file that JupyterLab loads: a module federation container, written by hand. JupyterLab calls `init` with its
// shared modules, then `get` for the extension. See "The JupyterLab extension" in ARCHITECTURE.md for why no bundler makes it.

import { makePlugins } from "./plugins";
import { shareModules } from "./shared";
import type { ShareScope } from "./shared";

interface Container {
  init(scope: ShareScope): void;
  get(name: string): Promise<() => unknown>;
}

const container: Container = {
  init: shareModules,
  async get(name) {
    if (name !== "./extension") throw new Error(`acp-notebook has no module ${name}`);
    const plugins = await makePlugins();
    return () => ({ __esModule: true, default: plugins });
  },
};

const page = globalThis as { _JUPYTERLAB?: Record<string, Container> };
(page._JUPYTERLAB ??= {})["acp-notebook"] = container;
