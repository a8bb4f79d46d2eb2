// The host's typesetter for formulas, where it has one: JupyterLab 4 and Notebook 7 do, others show them
// as they were written. The only code that touches widget_manager.rendermime.

interface Manager {
  readonly rendermime?: { readonly latexTypesetter?: { typeset?: unknown } | null };
}

/** Typesets the formulas in an element, now or when the host has loaded what it needs for that. */
export type Typeset = (element: HTMLElement) => void;

export function typesetOf(manager: unknown): Typeset | undefined {
  const rendermime = (manager as Manager | null | undefined)?.rendermime;
  const typesetter = rendermime?.latexTypesetter;
  if (typeof typesetter?.typeset !== "function") return undefined;
  const { typeset } = typesetter as { typeset: (element: HTMLElement) => unknown };
  return (element) => {
    const told = typeset.call(typesetter, element);
    if (told instanceof Promise)
      told.catch((error: unknown) =>
        console.warn("acp_notebook: a formula was not typeset", error),
      );
  };
}
