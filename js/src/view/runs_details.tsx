// What an open row shows: the error, the transcript and the patch, as the kernel has rendered them.

import { useLayoutEffect, useRef } from "preact/hooks";
import { staticNodes } from "../text/static_html";

interface Props {
  run: number;
  html: string | undefined;
}

export function RunDetails({ run, html }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const el = place.current;
    if (!el || html === undefined) return;
    const nodes = staticNodes(html);
    keepFolds(el, nodes);
    el.replaceChildren(nodes);
  }, [html]);
  return (
    <>
      {html === undefined && <p class="acp-quiet">Loading…</p>}
      <div
        class="acp-runs-html acp-scroll"
        ref={place}
        tabIndex={html === undefined ? -1 : 0}
        role="region"
        aria-label={`Details of run ${run}`}
      />
    </>
  );
}

/** While a run goes on, what the user has opened or closed stays so. */
function keepFolds(before: Element, after: DocumentFragment): void {
  const folds = [...before.querySelectorAll("details")];
  after.querySelectorAll("details").forEach((fold, number) => {
    const was = folds[number];
    if (was) fold.open = was.open;
  });
}
