// Converts sanitised nodes to Preact's virtual nodes, so that a rebuilt block keeps equal DOM nodes. The view
// decides how code and formulas are shown. Copies only a few attributes, by name.

import { h } from "preact";
import type { ComponentChild } from "preact";

export interface Makers {
  code(source: string, language: string): ComponentChild;
  math(source: string, display: boolean): ComponentChild;
}

const ATTRIBUTES = [
  "alt",
  "aria-label",
  "class",
  "href",
  "rel",
  "role",
  "src",
  "start",
  "target",
  "title",
];

export function tree(parent: Node, makers: Makers): ComponentChild[] {
  const made: ComponentChild[] = [];
  for (const node of parent.childNodes) {
    if (node.nodeType === 3 /* text */) {
      // The newlines that the parser puts between blocks have no effect.
      if (node.nodeValue !== "\n" || INLINE.has(parent.nodeName)) made.push(node.nodeValue);
    } else if (node.nodeType === 1 /* element */) made.push(element(node as Element, makers));
  }
  return made;
}

const INLINE: ReadonlySet<string> = new Set(
  "A CODE DEL EM H1 H2 H3 H4 H5 H6 LI P S SPAN STRONG TD TH".split(" "),
);

function element(node: Element, makers: Makers): ComponentChild {
  const name = node.nodeName.toLowerCase();
  const style = node.getAttribute("class") ?? "";
  if (name === "pre") {
    const language = /^acp-lang-(.+)$/.exec(node.firstElementChild?.className ?? "")?.[1] ?? "";
    return makers.code(node.textContent ?? "", language);
  }
  if (style.startsWith("acp-math"))
    return makers.math(node.textContent ?? "", style.includes("block"));
  const attributes: Record<string, string> = {};
  for (const each of ATTRIBUTES) {
    const value = node.getAttribute(each);
    if (value !== null) attributes[each] = value;
  }
  return h(name, attributes, ...tree(node, makers));
}
