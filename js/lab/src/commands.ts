// The commands, and where the host offers them: the palette, the menu of a cell, the launcher.

import type { Actions, Say } from "./actions";
import { hasSelection } from "./cells";
import type { App, Disposable, Launcher, NotebookPanel, Palette } from "./host";
import { EXPLAIN } from "./prompts";
import { isMeant } from "./user_input";

const CATEGORY = "Agents";
const CELL = ".jp-Notebook .jp-Cell";

/** An entry of the user's own, from the settings. */
export interface Entry {
  readonly label: string;
  readonly prompt: string;
}

interface Command {
  readonly id: string;
  readonly label: string;
  readonly run: () => unknown;
  /** It does something in the user's name, so it must come from the user. */
  readonly acts?: boolean;
  readonly isVisible?: () => boolean;
}

export function addCommands(
  app: App,
  actions: Actions,
  notebook: () => NotebookPanel | null,
  say: Say,
  palette: Palette | null,
): void {
  const selects = () => hasSelection(notebook()?.content.activeCell);
  const commands: Command[] = [
    { id: "open", label: "Show the Agents Panel", run: () => actions.openSide() },
    { id: "start", label: "Start an Agent", run: () => actions.start() },
    { id: "focus", label: "Focus the Agent", run: () => actions.focus() },
    {
      id: "send",
      acts: true,
      label: "Send the Cell or the Selection to the Agent",
      run: () => actions.ask(""),
    },
    { id: "stop", acts: true, label: "Stop the Agent", run: () => actions.stop() },
    {
      id: "allow-once",
      acts: true,
      label: "Allow Once What the Agent Asks",
      run: () => actions.answer("allow_once"),
    },
    {
      id: "reject",
      acts: true,
      label: "Reject What the Agent Asks",
      run: () => actions.answer("reject"),
    },
    { id: "next-change", label: "Next Change of the Agent", run: () => actions.nextChange() },
    {
      id: "undo-turn",
      acts: true,
      label: "Undo the Agent's Last Turn",
      run: () => actions.undoTurn(),
    },
    { id: "ask-cell", label: "Ask the Agent About This Cell", run: () => actions.write(false) },
    {
      id: "ask-selection",
      label: "Ask the Agent About This Selection",
      run: () => actions.write(true),
      isVisible: selects,
    },
    {
      id: "explain",
      acts: true,
      label: "Let the Agent Explain This",
      run: () => actions.ask(EXPLAIN),
    },
  ];
  for (const it of commands) {
    add(app, it, say);
    palette?.addItem({ command: `acp-notebook:${it.id}`, category: CATEGORY });
  }
  ["ask-cell", "ask-selection", "explain"].forEach((id, at) =>
    app.contextMenu.addItem({ command: `acp-notebook:${id}`, selector: CELL, rank: 20 + at }),
  );
}

/** None takes arguments: documents can give any. */
function add(app: App, { id, label, run, acts, isVisible }: Command, say: Say): Disposable {
  const command = `acp-notebook:${id}`;
  return app.commands.addCommand(command, {
    label,
    ...(isVisible ? { isVisible } : {}),
    execute: () => {
      if (!acts || isMeant(app, command)) return run();
      say("Not done: this command works by its keys, from the palette and from menus.");
      return undefined;
    },
  });
}

/** Puts the user's own entries into the menu of a cell; returns how to remove them. */
export function addEntries(
  app: App,
  actions: Actions,
  say: Say,
  entries: readonly Entry[],
): () => void {
  const added = entries.flatMap(({ label, prompt }, at) => {
    const id = `entry-${at + 1}`;
    const item = { command: `acp-notebook:${id}`, selector: CELL, rank: 24 + at / 100 };
    return [
      app.contextMenu.addItem(item),
      add(app, { id, label, acts: true, run: () => actions.ask(prompt) }, say),
    ];
  });
  return () => added.forEach((it) => it.dispose());
}

/** The entries that can be used, of whatever the settings have. */
export function entriesOf(setting: unknown): Entry[] {
  if (!Array.isArray(setting)) return [];
  return setting.flatMap((it: unknown) => {
    const { label, prompt } = (it ?? {}) as Partial<Entry>;
    const usable = typeof label === "string" && typeof prompt === "string" && label && prompt;
    return usable ? [{ label, prompt }] : [];
  });
}

/** A tile that makes a notebook, and offers agents for it. */
export function addTile(app: App, launcher: Launcher, actions: Actions): void {
  const command = "acp-notebook:launch";
  app.commands.addCommand(command, {
    label: "Agent",
    caption: "Start an agent in a new notebook",
    iconClass: "acp-lab-icon acp-lab-tile",
    execute: async ({ cwd }) => {
      const kernelName = app.serviceManager.kernelspecs.specs?.default ?? "python3";
      const options = typeof cwd === "string" ? { cwd } : {};
      await app.commands.execute("notebook:create-new", { ...options, kernelName });
      await actions.start();
    },
  });
  launcher.add({ command, category: "Other", rank: 90 });
}
