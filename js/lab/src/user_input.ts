// Whether a command comes from the user. JupyterLab lets rendered documents run commands when they are clicked
// (`data-commandlinker-command`), also several in turn, each of which may wait for the next input; and a document can be
// written by an agent, with any tag, class and id. So what counts is proved: the keys that are bound to the command, or
// an input in a menu or palette that no document can contain. Keys that are held down repeat, and do not count.

import type { App, Commands, LabShell } from "./host";

/** JupyterLab waits after a key: whether a field takes it, and for a second one. */
const KEYS_MS = 1500;
const MODIFIER = /^(Alt|AltGraph|Control|Meta|Shift)$/;

let pressed: string[] = [];
let pressedAt = 0;

export function watchKeys({ commands }: App): void {
  const note = (event: KeyboardEvent) => {
    if (!event.isTrusted || MODIFIER.test(event.key)) return;
    const key = commands.constructor.keystrokeForKeydownEvent(event);
    pressed = event.repeat ? [] : [...pressed.slice(-3), key];
    pressedAt = performance.now();
  };
  addEventListener("keydown", note, { capture: true, passive: true });
}

/** Whether the user means this command, which runs now. */
export function isMeant({ commands, shell }: App, command: string): boolean {
  return isPressed(commands, command) || isChosen(shell);
}

function isPressed({ keyBindings }: Commands, command: string): boolean {
  if (performance.now() - pressedAt > KEYS_MS) return false;
  const bound = keyBindings.some(
    (it) => it.command === command && `${pressed.slice(-it.keys.length)}` === `${it.keys}`,
  );
  if (bound) pressed = [];
  return bound;
}

/** Whether the input that is being handled is one in the host's own menus and palettes. */
function isChosen(shell: LabShell): boolean {
  const { event } = window;
  if (!event?.isTrusted || (event as KeyboardEvent).repeat) return false;
  const path = event.composedPath(); // as it was: a menu is closed before its command runs
  const top = path[path.indexOf(document.body) - 1];
  // Menus and the palette are children of the body; documents are somewhere in the shell, or in a dialog.
  if (top instanceof Element && top.matches(".lm-Menu, .jp-ModalCommandPalette")) return true;
  return [...shell.widgets("left"), ...shell.widgets("right")].some(
    ({ node }) => node.matches(".lm-CommandPalette") && path.includes(node),
  );
}
