// Builds elements. Text is always text.

type Child = Node | string | null | false;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | (() => void)>,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value);
  for (const child of children) if (child !== null && child !== false) made.append(child);
  return made;
}

export function button(label: string, click: () => void, name = ""): HTMLButtonElement {
  const attributes = { type: "button", class: "acp-lab-button", "data-acp-lab": name };
  return element("button", { ...attributes, click }, label);
}
