// Watches whether an element is in view, as far as the browser can tell.

import { useEffect, useState } from "preact/hooks";

/** `find` is called again when `of` changes; what is not found, and what cannot be watched, counts as in view. */
export function useInView(find: () => Element | null | undefined, of: unknown = null): boolean {
  const [seen, setSeen] = useState(true);
  useEffect(() => {
    const el = find();
    setSeen(true);
    if (!el || typeof IntersectionObserver === "undefined") return;
    const watch = new IntersectionObserver((entries) =>
      setSeen(entries.at(-1)?.isIntersecting ?? true),
    );
    watch.observe(el);
    return () => watch.disconnect();
  }, [of]);
  return seen;
}
