// The host's typesetter for formulas, if it has one: JupyterLab 4 and Notebook 7 do; other hosts show formulas as
// written. The only code that touches widget_manager.rendermime.

interface Manager {
  readonly rendermime?: { readonly latexTypesetter?: { typeset?: unknown } | null };
}

/** Typesets the formulas in an element, now or when the host has loaded its typesetter. */
export type Typeset = (element: HTMLElement) => void;

export function typesetOf(manager: unknown): Typeset | undefined {
  const rendermime = (manager as Manager | null | undefined)?.rendermime;
  const typesetter = rendermime?.latexTypesetter;
  if (typeof typesetter?.typeset !== "function") return undefined;
  const { typeset } = typesetter as { typeset: (element: HTMLElement) => unknown };
  return (element) => {
    const result = typeset.call(typesetter, element);
    if (result instanceof Promise)
      result.catch((error: unknown) =>
        console.warn("acp_notebook: a formula was not typeset", error),
      );
  };
}
