// Joins the parts of the extension with what the host offers.

import { Actions } from "./actions";
import { addCommands, addEntries, addTile, entriesOf } from "./commands";
import { Dock } from "./dock";
import { ErrorButtons } from "./error_buttons";
import type {
  App,
  Launcher,
  Notifications,
  Palette,
  Restorer,
  SettingRegistry,
  StatusBar,
  WidgetsModule,
} from "./host";
import { reconnectSoon } from "./reconnection";
import { Sessions } from "./sessions";
import { SidePanel } from "./side_panel";
import { makeStatusItem } from "./status_item";
import { Tabs } from "./tabs";
import { keepWidgetsOut, renderTranscripts } from "./transcripts";
import type { MimeRegistry } from "./transcripts";
import styles from "./style.css";
import { watchKeys } from "./user_input";

export const PLUGIN = "acp-notebook:plugin";

/** How long a note is shown. */
const NOTE_MS = 4000;

/** What the host offers; null if it does not. */
export interface Services {
  readonly ICommandPalette?: Palette | null;
  readonly ILauncher?: Launcher | null;
  readonly IStatusBar?: StatusBar | null;
  readonly ISettingRegistry?: SettingRegistry | null;
  readonly ILayoutRestorer?: Restorer | null;
  readonly IRenderMimeRegistry?: MimeRegistry | null;
}

export function start(
  app: App,
  widgets: WidgetsModule,
  services: Services,
  notifications: Notifications | null,
): void {
  const style = document.createElement("style");
  style.textContent = styles;
  document.head.append(style);
  watchKeys(app);
  const sessions = new Sessions(app);
  const dock = new Dock();
  if (services.IRenderMimeRegistry) {
    renderTranscripts(widgets, services.IRenderMimeRegistry, sessions);
    keepWidgetsOut(app);
  }
  new Tabs(app, sessions);
  reconnectSoon(sessions);
  const { Widget } = widgets;
  const side = new SidePanel(Widget, sessions, dock);
  app.shell.add(side.widget, "right", { rank: 900 });
  services.ILayoutRestorer?.add(side.widget, side.widget.id);
  const say = (text: string) => void notifications?.emit(text, "info", { autoClose: NOTE_MS });
  const actions = new Actions(app, sessions, side, dock, say);
  addCommands(app, actions, () => sessions.notebook, say, services.ICommandPalette ?? null);
  if (services.ILauncher) addTile(app, services.ILauncher, actions);
  const focus = () => void actions.focus();
  services.IStatusBar?.registerStatusItem(PLUGIN, {
    item: makeStatusItem(Widget, sessions, side, focus),
    align: "left",
    rank: 100,
  });
  let errorButton = true;
  const buttons = new ErrorButtons(
    (notebook, cell) => {
      sessions.follow(notebook);
      void actions.askToFix(cell);
    },
    () => errorButton,
  );
  sessions.changed.add(() => sessions.notebook && buttons.watch(sessions.notebook));
  // Later: it is a request to the server, which is busy while the host starts.
  void app.restored.then(async () => {
    const settings = await services.ISettingRegistry?.load(PLUGIN);
    if (!settings) return;
    let remove = () => {};
    const apply = () => {
      errorButton = settings.composite["errorButton"] !== false;
      buttons.update();
      remove();
      remove = addEntries(app, actions, say, entriesOf(settings.composite["entries"]));
    };
    settings.changed.connect(apply);
    apply();
  });
}
