// What we use of JupyterLab 4 and Notebook 7: small interfaces, written by hand. `@jupyterlab/…` packages declare
// far more, and only for one version.

import type { ShareScope } from "./shared";
export type { ShareScope };

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Fields = { [name: string]: Json };

/** Identifies a service of the host. */
export type Token<T> = { readonly name: string; readonly provides?: T };

export interface Signal<T = unknown, S = unknown> {
  connect(slot: (sender: S, value: T) => void): unknown;
  disconnect(slot: (sender: S, value: T) => void): unknown;
}

export interface Disposable {
  dispose(): void;
}

// ---- widgets and the shell

export interface HostWidget {
  id: string;
  readonly node: HTMLElement;
  readonly title: {
    label: string;
    caption: string;
    iconClass: string;
    icon?: unknown;
  };
  readonly isVisible: boolean;
  readonly isDisposed: boolean;
  readonly disposed: Signal;
  addClass(name: string): void;
  dispose(): void;
}

/** A widget with others below each other. */
export interface HostPanel extends HostWidget {
  readonly widgets: readonly HostWidget[];
  addWidget(widget: HostWidget): void;
}

export interface WidgetsModule {
  Widget: new (options?: { node?: HTMLElement }) => HostWidget;
  Panel: new () => HostPanel;
}

export interface LabShell {
  readonly currentWidget: HostWidget | null;
  readonly currentChanged?: Signal;
  /** Of JupyterLab only. */
  readonly layoutModified?: Signal;
  add(widget: HostWidget, area: string, options?: { rank?: number }): void;
  activateById(id: string): void;
  widgets(area: string): Iterable<HostWidget>;
}

export interface Commands {
  addCommand(
    id: string,
    options: {
      label: string | ((args: Fields) => string);
      caption?: string;
      iconClass?: string;
      icon?: unknown;
      isEnabled?: (args: Fields) => boolean;
      isVisible?: (args: Fields) => boolean;
      execute: (args: Fields) => unknown;
    },
  ): Disposable;
  execute(id: string, args?: Fields): Promise<unknown>;
  readonly keyBindings: readonly { readonly command: string; readonly keys: readonly string[] }[];
  readonly constructor: { keystrokeForKeydownEvent(event: KeyboardEvent): string };
}

export interface App {
  readonly name: string;
  readonly version: string;
  readonly commands: Commands;
  readonly shell: LabShell;
  readonly restored: Promise<unknown>;
  readonly serviceManager: {
    readonly kernelspecs: { readonly specs?: { readonly default: string } | null };
  };
  readonly contextMenu: {
    addItem(item: {
      command?: string;
      args?: Fields;
      selector: string;
      rank?: number;
      type?: string;
    }): Disposable;
  };
}

export interface Plugin {
  readonly id: string;
  readonly description: string;
  readonly autoStart: boolean;
  readonly requires?: readonly unknown[];
  readonly optional?: readonly unknown[];
  activate(app: App, ...services: unknown[]): void | Promise<void>;
}

// ---- services, all of them optional

export interface Palette {
  addItem(item: { command: string; category: string; args?: Fields }): Disposable;
}

export interface Launcher {
  add(item: { command: string; category: string; rank?: number; args?: Fields }): Disposable;
}

export interface StatusBar {
  registerStatusItem(
    id: string,
    item: { item: HostWidget; align: "left" | "right"; rank?: number; isActive?: () => boolean },
  ): Disposable;
}

export interface Settings {
  readonly composite: Fields;
  readonly changed: Signal;
}

export interface SettingRegistry {
  load(plugin: string): Promise<Settings>;
}

export interface Notifications {
  emit(message: string, type: "info", options: { autoClose: number }): string;
}

export interface Restorer {
  add(widget: HostWidget, name: string): void;
}

// ---- notebooks

export interface Reply {
  readonly content: {
    readonly status: string;
    readonly user_expressions?: Record<
      string,
      { status: string; data?: Fields; ename?: string; evalue?: string }
    >;
  };
}

export interface Kernel {
  readonly id: string;
  readonly isDisposed: boolean;
  readonly connectionStatus: "connected" | "connecting" | "disconnected";
  readonly serverSettings: { readonly baseUrl: string; readonly token: string };
  /** Resolves when it is connected. */
  reconnect(): Promise<void>;
  requestExecute(content: object): { readonly done: Promise<Reply>; dispose(): void };
}

export interface SharedCell {
  readonly id?: string;
  getSource(): string;
}

export interface SharedNotebook {
  readonly cells: readonly SharedCell[];
  insertCell(at: number, cell: Fields): SharedCell;
}

export interface OutputModel {
  readonly type: string;
  toJSON(): Json;
}

export interface Outputs {
  readonly length: number;
  get(at: number): OutputModel;
  readonly changed: Signal;
}

export interface CellModel {
  readonly id: string;
  readonly type: string;
  readonly executionCount?: number | null;
  readonly sharedModel: SharedCell;
  /** Of a code cell. */
  readonly outputs?: Outputs;
}

export interface Editor {
  getSelection(): { start: Position; end: Position };
  getOffsetAt(position: Position): number;
}

interface Position {
  readonly line: number;
  readonly column: number;
}

export interface Cell extends HostWidget {
  readonly model: CellModel;
  readonly editor: Editor | null;
  readonly ready?: Promise<void>;
}

export interface DocumentContext {
  readonly path: string;
  readonly ready: Promise<void>;
  readonly model: {
    readonly sharedModel: SharedNotebook;
    readonly cells: {
      readonly changed: Signal;
      readonly length: number;
      get(at: number): CellModel;
    };
  };
  readonly sessionContext: {
    readonly ready: Promise<void>;
    readonly kernelDisplayName?: string;
    readonly kernelChanged: Signal;
    readonly statusChanged: Signal<string>;
    readonly session?: { readonly kernel?: Kernel | null } | null;
  };
}

export interface NotebookPanel extends HostWidget {
  readonly context: DocumentContext;
  readonly content: HostWidget & {
    readonly widgets: readonly Cell[];
    readonly activeCell: Cell | null;
    readonly activeCellChanged?: Signal;
    activeCellIndex: number;
    scrollToItem?(at: number): Promise<void>;
  };
}

/** Recognises a notebook by what we use of it: `INotebookTracker` would tell no more. */
export function asNotebook(widget: HostWidget | null): NotebookPanel | null {
  const panel = widget as Partial<NotebookPanel> | null;
  const usable =
    panel?.context?.sessionContext !== undefined &&
    panel.context.model?.cells !== undefined &&
    Array.isArray(panel.content?.widgets);
  return usable ? (panel as NotebookPanel) : null;
}
