// Ids of elements and requests that are unique in the page. Preact's useId() counts in each view on its own, and
// a page has several.

import { useState } from "preact/hooks";

export function usePageId(): string {
  const [id] = useState(() => `acp-${Math.random().toString(36).slice(2)}`);
  return id;
}
