// Brings something into sight: a question that was asked, a panel in which the user writes.

import { focused, inSight, isTyping } from "./focus";
import { windowOf } from "./follow";

/** Space above what is brought into sight. */
const MARGIN_PX = 8;

/** An open question, within its conversation and, if wanted, its page. */
export function bringQuestion(question: HTMLElement, page = true): void {
  if (question.getBoundingClientRect().height === 0) return;
  const panel = question.closest<HTMLElement>(".acp-panel");
  const scrollers = scrollersOf(question);
  const own = scrollers.filter((it) => panel?.contains(it));
  for (const scroller of own) scrollTo(question, scroller);
  if (page && !typesElsewhere(question) && !isShownElsewhere(question))
    for (const scroller of scrollers.slice(own.length)) scrollTo(panel ?? question, scroller);
}

/** The whole panel, within its page. */
export function bringPanel(panel: HTMLElement): void {
  if (panel.offsetHeight === 0 || typesElsewhere(panel)) return;
  for (const scroller of scrollersOf(panel)) scrollTo(panel, scroller);
}

/** As little as possible; from its beginning, if it does not fit. */
function scrollTo(el: HTMLElement, scroller: Element): void {
  const view = windowOf(scroller);
  const { top, bottom } = el.getBoundingClientRect();
  const above = top - MARGIN_PX - view.top;
  const below = bottom + MARGIN_PX - view.bottom;
  const by = above < 0 ? above : below > 0 ? Math.min(below, above) : 0;
  if (by !== 0) scroller.scrollBy({ top: by, behavior: "instant" });
}

/** What scrolls around an element, from the innermost to the page. */
function scrollersOf(el: HTMLElement): Element[] {
  const page = document.scrollingElement ?? document.documentElement;
  const found: Element[] = [];
  for (
    let at = el.parentElement;
    at && at !== page && at !== document.body;
    at = at.parentElement
  ) {
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(at).overflowY);
    if (scrolls && at.scrollHeight > at.clientHeight) found.push(at);
  }
  return [...found, page];
}

/** Whether the user types outside of this view: then the page must not move. */
function typesElsewhere(el: HTMLElement): boolean {
  return isTyping() && !el.closest(".acp")?.contains(focused());
}

/** Whether another view of the session has the question in sight already. */
function isShownElsewhere(question: HTMLElement): boolean {
  const key = CSS.escape(question.dataset.acpQuestion ?? "");
  const all = document.querySelectorAll<HTMLElement>(
    `[data-acp-question="${key}"][data-status="open"]`,
  );
  return [...all].some((it) => it !== question && inSight(it));
}
