// The kernel's static HTML as safe nodes. The kernel escapes all text of agents (core/export); this is the second line
// of defence: no scripts, no addresses but links and pictures, no style that leaves its place or loads anything.

import createPurifier from "dompurify";
import type { Config, DOMPurify } from "dompurify";
import { isLink, isPicture } from "./links";

const TAGS =
  "a b blockquote br code del details div em h3 h4 h5 h6 hr img li ol p pre s small span strong summary table tbody td th thead tr ul";

const CONFIG: Config = {
  ALLOWED_TAGS: TAGS.split(" "),
  ALLOWED_ATTR: ["alt", "href", "open", "scope", "src", "start", "style", "title"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/** The properties that the kernel uses, with plain values: no address, nothing that moves out of its box. */
const STYLE =
  /^(?:(?:margin|padding|padding-left|border|border-left|border-radius|background|color|opacity|overflow|overflow-x|font-family|max-width|list-style|text-align|display|white-space|gap|min-width|grid-template-columns)\s*:\s*(?!.*(?:url|expression))[\w\s.,#%()-]+;?\s*)*$/i;

const VALUES: Record<string, (value: string) => boolean> = {
  href: isLink,
  src: isPicture,
  style: (value) => STYLE.test(value),
  start: (value) => /^\d{1,9}$/.test(value),
};

let purifier: DOMPurify | null = null;

/** The HTML as safe nodes, not attached to the document. */
export function staticNodes(html: string): DocumentFragment {
  purifier ??= made();
  return purifier.sanitize(html, CONFIG) as unknown as DocumentFragment;
}

function made(): DOMPurify {
  // Our own instance: hooks of a shared one would affect other modules.
  const purifier = createPurifier(window);
  purifier.addHook("uponSanitizeAttribute", (_, data) => {
    const check = VALUES[data.attrName];
    if (check && !check(data.attrValue)) data.keepAttr = false;
  });
  purifier.addHook("afterSanitizeAttributes", (element) => {
    if (element.nodeName === "A" && element.hasAttribute("href")) {
      element.setAttribute("target", "_blank");
      element.setAttribute("rel", "noopener noreferrer");
    }
    if (element.nodeName === "IMG" && !element.hasAttribute("src")) element.remove();
  });
  return purifier;
}
