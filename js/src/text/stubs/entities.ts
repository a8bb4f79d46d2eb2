// Decodes character references ("&copy;", "&#169;") with the browser. The build uses this instead of the package
// `entities`, whose table would be a sixth of the whole module.

const ENTITY = /&(?:#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z][a-z0-9]{1,31});/gi;

let place: HTMLTextAreaElement | null = null;
const known = new Map<string, string>();
/** Texts use a few names over and over; a text that uses thousands is not worth remembering. */
const MAX_KNOWN = 500;

export function decodeHTMLStrict(text: string): string {
  return text.replace(ENTITY, (entity) => {
    const before = known.get(entity);
    if (before !== undefined) return before;
    // The input is a single entity, and a textarea contains only text.
    place ??= document.createElement("textarea");
    place.innerHTML = entity;
    if (known.size < MAX_KNOWN) known.set(entity, place.value);
    return place.value;
  });
}
