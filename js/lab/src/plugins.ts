// The plugin: takes what the host offers, and starts the parts of the extension.

import { PLUGIN, start } from "./extension";
import type { App, Notifications, Plugin, WidgetsModule } from "./host";
import { sharedModule } from "./shared";

/** Services of the host, by the module that has their token. Each is optional: Notebook 7 lacks some. */
const SERVICES = [
  ["@jupyterlab/apputils", "ICommandPalette"],
  ["@jupyterlab/launcher", "ILauncher"],
  ["@jupyterlab/statusbar", "IStatusBar"],
  ["@jupyterlab/settingregistry", "ISettingRegistry"],
  ["@jupyterlab/application", "ILayoutRestorer"],
  ["@jupyterlab/rendermime", "IRenderMimeRegistry"],
] as const;

export async function makePlugins(): Promise<Plugin[]> {
  const widgets = await sharedModule<WidgetsModule>("@lumino/widgets");
  if (!widgets) return [];
  const tokens = await Promise.all(
    SERVICES.map(async ([name, token]) => {
      const found = await sharedModule<Record<string, unknown>>(name);
      return [token, found?.[token]] as const;
    }),
  );
  const apputils = await sharedModule<{ Notification?: Notifications }>("@jupyterlab/apputils");
  const known = tokens.filter(([, token]) => token !== undefined);
  return [
    {
      id: PLUGIN,
      description: "Coding agents in a side panel, in menus and commands.",
      autoStart: true,
      optional: known.map(([, token]) => token),
      activate(app: App, ...services: unknown[]) {
        const found = Object.fromEntries(known.map(([name], at) => [name, services[at] ?? null]));
        start(app, widgets, found, apputils?.Notification ?? null);
      },
    },
  ];
}
