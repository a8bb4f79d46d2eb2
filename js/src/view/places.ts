// The places in a page that show the same session. A turn below its cell is drawn there and not in the panel; what
// is wrong with the session is told in the panel and not below cells; a question, a stop button and a refusal are
// in one place at a time: the best one in view. Draws nothing.

import type { Drafts } from "./form";

/** How good a place is: below its cell a turn has its context, and the panel is about the whole session. */
export const IN_PANEL = 1;
export const BELOW_CELL = 2;
export const OF_SESSION = 3;

/** The name of what only a panel draws; turns have their ids. */
export const PANEL = "panel";

/** A place must be out of view for this long to lose what it has: a reader may only scroll past. */
export const SETTLE_MS = 200;

/** Enough to be in view, and so little that it no longer is. */
const ENTERS_PX = 80;
const LEAVES_PX = 24;

/** A place that can show something. */
export interface Spot {
  readonly rank: number;
  /** The element whose visibility counts. */
  readonly el: Element;
  /** What the user may be using right now. */
  readonly box?: () => Element | null;
  /** Called when this place gets it or loses it. */
  readonly changed: (holds: boolean) => void;
}

interface Claim {
  readonly spots: Spot[];
  holder: Spot | null;
  /** The place that the user has chosen, while it is in view. */
  chosen: Spot | null;
}

/** The places of one session. */
export class Places {
  /** Forms that are being filled in, by their key: they go along when they are shown in another place. */
  readonly forms = new Map<string, Drafts>();
  #claims = new Map<string, Claim>();
  #views = new Map<string, Element[]>();
  #watched = new Map<Element, { uses: number; inView: boolean }>();
  #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #promptedAt = -Infinity;
  readonly #observer =
    typeof IntersectionObserver === "undefined"
      ? null
      : new IntersectionObserver((entries) => this.#seen(entries), { threshold: THRESHOLDS });

  // ---- what is shown once

  /** Offer to show it in this place; returns how to withdraw. */
  offer(name: string, spot: Spot): () => void {
    const claim = this.#claims.get(name) ?? { spots: [], holder: null, chosen: null };
    this.#claims.set(name, claim);
    claim.spots.push(spot);
    this.#observe(spot.el);
    this.#decide(claim, true);
    if (claim.holder !== spot) spot.changed(false);
    return () => {
      this.#unobserve(spot.el);
      claim.spots.splice(claim.spots.indexOf(spot), 1);
      if (claim.chosen === spot) claim.chosen = null;
      if (claim.holder === spot) claim.holder = null;
      if (claim.spots.length > 0) this.#decide(claim, true);
      else this.#claims.delete(name);
    };
  }

  /** Whether no place shows it yet. */
  isFree(name: string): boolean {
    return !this.#claims.get(name)?.holder;
  }

  /** Whether the place that shows it is this element, or within it. */
  isIn(name: string, el: Element | null): boolean {
    const holder = this.#claims.get(name)?.holder;
    return holder != null && el !== null && el.contains(holder.el);
  }

  /** The user wants it here. */
  choose(name: string, el: Element): void {
    const claim = this.#claims.get(name);
    const spot = claim?.spots.find((it) => it.el === el);
    if (!claim || !spot) return;
    claim.chosen = spot;
    this.#give(claim, spot);
  }

  #decide(claim: Claim, atOnce: boolean): void {
    const best = this.#best(claim, atOnce);
    const { holder } = claim;
    if (best === holder) return;
    if (holder === null || (atOnce && !isUsed(holder))) this.#give(claim, best);
    else this.#later();
  }

  /** In view before out of view, then by rank, then where the user works; what is out of view everywhere stays
      where it is, unless it is `isNew`. */
  #best({ spots, holder, chosen }: Claim, isNew = false): Spot | null {
    if (chosen && this.#inView(chosen)) return chosen;
    const better = (a: Spot, b: Spot) =>
      Number(this.#inView(a)) - Number(this.#inView(b)) ||
      (this.#inView(a) || isNew ? a.rank - b.rank || inUse(a) - inUse(b) : 0) ||
      Number(a === holder) - Number(b === holder);
    return spots.reduce<Spot | null>((a, b) => (a && better(a, b) >= 0 ? a : b), null);
  }

  #give(claim: Claim, to: Spot | null): void {
    const from = claim.holder;
    claim.holder = to;
    if (from !== to) from?.changed(false);
    to?.changed(true);
    this.#tell();
  }

  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      for (const claim of this.#claims.values()) {
        if (claim.chosen && !this.#inView(claim.chosen)) claim.chosen = null;
        const best = this.#best(claim);
        if (best === claim.holder) continue;
        if (claim.holder && isUsed(claim.holder)) this.#later();
        else this.#give(claim, best);
      }
    }, SETTLE_MS);
  }

  // ---- turns below their cells, and panels

  /** A view draws this turn below its cell, or is a panel; returns how to say that it is gone. */
  draw(name: string, el: Element): () => void {
    this.#views.set(name, [...(this.#views.get(name) ?? []), el]);
    this.#observe(el);
    this.#tell();
    return () => {
      this.#unobserve(el);
      const others = (this.#views.get(name) ?? []).filter((other) => other !== el);
      if (others.length > 0) this.#views.set(name, others);
      else this.#views.delete(name);
      this.#tell();
    };
  }

  /** The view that draws it. Its cell may be far from the reader, but not collapsed. */
  viewOf(name: string): Element | null {
    return this.#views.get(name)?.find(isRendered) ?? null;
  }

  /** Called when something may be drawn in another place than before. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  // ---- prompts of the panel

  /** A prompt was sent from a panel: the next turn is not a cell's. */
  prompted(): void {
    this.#promptedAt = performance.now();
  }

  wasPrompted(within: number): boolean {
    return performance.now() - this.#promptedAt < within;
  }

  // ---- what is in view

  #inView({ el }: Spot): boolean {
    return this.#watched.get(el)?.inView ?? false;
  }

  #observe(el: Element): void {
    const known = this.#watched.get(el);
    if (known) known.uses += 1;
    else {
      this.#watched.set(el, { uses: 1, inView: !this.#observer || isOnScreen(el) });
      this.#observer?.observe(el);
    }
  }

  #unobserve(el: Element): void {
    const known = this.#watched.get(el);
    if (!known || --known.uses > 0) return;
    this.#watched.delete(el);
    this.#observer?.unobserve(el);
  }

  #seen(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, intersectionRect, boundingClientRect } of entries) {
      const known = this.#watched.get(target);
      if (!known) continue;
      const enough = known.inView ? LEAVES_PX : ENTERS_PX;
      const least = Math.min(enough, boundingClientRect.height * 0.9);
      known.inView = intersectionRect.height > 0 && intersectionRect.height >= least;
    }
    this.#later();
    this.#tell();
  }
}

const THRESHOLDS = [0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1];

/** Where the user points or types, it stays. That a question itself has the focus is not their doing. */
function isUsed({ box }: Spot): boolean {
  const el = box?.();
  const active = document.activeElement;
  const typed = active !== null && !active.matches("[data-acp-question]") && el?.contains(active);
  return typed || (el?.matches(":hover") ?? false);
}

/** 1 if the focus is in the panel around it: a session may have several panels in view. */
function inUse({ el }: Spot): number {
  return Number(el.closest(".acp-panel")?.contains(document.activeElement) ?? false);
}

/** Whether the host shows it, in view or not. It takes cells that are far away out of the page, and the output
    of a collapsed cell out of its cell. */
export function isRendered(el: Element): boolean {
  if (!el.isConnected) return el.closest(".jp-Cell") !== null;
  return el.checkVisibility?.() ?? true;
}

/** A first guess, until the browser reports it. */
function isOnScreen(el: Element): boolean {
  const { top, bottom, height } = el.getBoundingClientRect();
  return height > 0 && bottom > LEAVES_PX && top < innerHeight - LEAVES_PX;
}

// Shared by all copies of this module in the page that have the same form.
const PLACES = Symbol.for("acp_notebook.places.2");

/** The places of a session, by the id of its model: two notebooks in a page may show it. */
export function placesOf(session: string): Places {
  const page = globalThis as { [PLACES]?: Map<string, Places> };
  const all = (page[PLACES] ??= new Map());
  const found = all.get(session) ?? new Places();
  all.set(session, found);
  return found;
}
