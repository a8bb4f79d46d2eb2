// Decides which addresses may become links and images. Knows no markup; the same rule as in core/export/links.py.

/** Schemes that open a page or a mail, and no character that could end or hide a part of the address. */
const LINK = /^(?:https?:\/\/|mailto:)[^\s\x00-\x20\x7f-\x9f<>"'`\\\u2028-\u202e\u2066-\u2069]+$/i;

/** Image types that browsers show and that cannot contain scripts (SVG can). */
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/;

export function isLink(address: string): boolean {
  return LINK.test(address);
}

export function isPicture(address: string): boolean {
  return PICTURE.test(address);
}
