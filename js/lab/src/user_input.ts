// Which key or click of the user a command comes from. JupyterLab lets rendered documents run commands when they are
// clicked (`data-commandlinker-command`), and a document can be written by an agent: such clicks do not count. Nor
// do keys that are held down, which repeat.

interface Input {
  readonly target: Element | null;
  readonly click: boolean;
  readonly repeat: boolean;
}

/** Where the host, or this extension, offers commands. */
const OFFERED = [
  ".lm-CommandPalette",
  ".lm-Menu",
  ".lm-MenuBar",
  ".jp-Launcher",
  ".jp-Toolbar",
  "[data-acp-lab]",
].join(", ");

let last: Input | null = null;

export function watchInput(): void {
  const note = (event: Event) => {
    if (!event.isTrusted) return;
    const target = event.target instanceof Element ? event.target : null;
    const repeat = event instanceof KeyboardEvent && event.repeat;
    last = { target, click: event.type !== "keydown", repeat };
  };
  for (const type of ["keydown", "click", "pointerup"])
    addEventListener(type, note, { capture: true, passive: true });
}

/** Whether the user means a command that runs now. */
export function isMeant(): boolean {
  if (last === null) return true; // a script of the page's own, which could do anything
  if (last.repeat) return false;
  return !last.click || last.target === null || last.target.closest(OFFERED) !== null;
}
