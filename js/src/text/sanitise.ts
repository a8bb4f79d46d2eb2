// The second line of defence: only these elements, attributes and addresses get into the page. (The first is the
// parser, which does not interpret HTML in a text.)

import createPurifier from "dompurify";
import type { Config, DOMPurify } from "dompurify";
import { isLink, isPicture } from "./links";

const TAGS =
  "a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr img li ol p pre s span strong table tbody td th thead tr ul";
const ATTRIBUTES = "alt aria-label class href role src start title";

const CONFIG: Config = {
  ALLOWED_TAGS: TAGS.split(" "),
  ALLOWED_ATTR: ATTRIBUTES.split(" "),
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/** The classes that the parser sets; any other could imitate our buttons or the page's. */
const CLASS =
  /^acp-(?:math(?: acp-math-block)?|task|table|right|center|lang-[a-z0-9_][a-z0-9_+#.-]{0,31})$/;

/** The allowed values of attributes, where they are restricted. */
const VALUES: Record<string, (value: string, element: Element) => boolean> = {
  class: (value) => CLASS.test(value),
  href: isLink,
  src: isPicture,
  role: (value, element) => value === "img" && element.className === "acp-task",
  "aria-label": (_, element) => element.className === "acp-task",
  start: (value) => /^\d{1,9}$/.test(value),
};

let purifier: DOMPurify | null = null;

/** The HTML as safe nodes, not attached to the document. */
export function sanitise(html: string): DocumentFragment {
  purifier ??= made();
  return purifier.sanitize(html, CONFIG) as unknown as DocumentFragment;
}

function made(): DOMPurify {
  // Our own instance: hooks of a shared one would affect other modules.
  const purifier = createPurifier(window);
  purifier.addHook("uponSanitizeAttribute", (element, data) => {
    const check = VALUES[data.attrName];
    if (check && !check(data.attrValue, element)) data.keepAttr = false;
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
