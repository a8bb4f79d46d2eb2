// The modules that JupyterLab shares with extensions. Tokens are compared by identity, so they must come from
// here; whatever version of JupyterLab runs, it is its own.

/** By name and version; `get` resolves to a function that returns the module. */
export type ShareScope = Record<string, Record<string, { get(): Promise<() => unknown> }>>;

let modules: ShareScope = {};

export function shareModules(scope: ShareScope): void {
  modules = scope;
}

/** A module of the host; null if it does not have it, as Notebook 7 has no status bar. */
export async function sharedModule<T>(name: string): Promise<T | null> {
  const [newest] = Object.entries(modules[name] ?? {}).sort(([a], [b]) => byVersion(b, a));
  return newest ? ((await newest[1].get())() as T) : null;
}

function byVersion(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}
