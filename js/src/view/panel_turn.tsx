// A turn in the panel. One that is drawn below its cell is a line that leads there, with its question while the
// cell is out of view; any other one is drawn in full.

import { useContext, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { asksUser, isAsking, isRunning, turnId } from "../turns";
import type { Turn } from "../turns";
import { changesOf, filesChanged, sumOf } from "./change_summary";
import { line } from "./display_text";
import { entriesOf } from "./entries";
import type { Entry } from "./entries";
import { HostContext } from "./host";
import { Icon } from "./icons";
import { memo } from "./memo";
import { NO_CHANGES } from "./own_changes";
import { usePanel } from "./panel";
import { askedName, PlaceContext, useBelow, useOnce } from "./place";
import { wordsOf } from "./prompt_text";
import { useTarget } from "./reveal";
import { turnWords } from "./state_words";
import { drawEntry, TurnView } from "./turn";
import type { TurnProps } from "./turn";

interface Props extends TurnProps {
  /** Whether the panel has been drawn before: then a turn that appears has just begun. */
  drawn: { readonly current: boolean };
}

export const PanelTurn = memo(function PanelTurn({ drawn, ...props }: Props) {
  const { start } = props.turn;
  return start === null ? (
    <TurnView {...props} stop={false} />
  ) : (
    <PlacedTurn {...props} id={turnId(start)} begins={() => drawn.current && isRunning(start)} />
  );
});

function PlacedTurn({ id, begins, ...props }: TurnProps & { id: string; begins: () => boolean }) {
  const self = useRef<HTMLDivElement>(null);
  const below = useBelow(id, self, begins);
  const wanted = useTarget()?.turn === props.turn.key; // found by a search
  const open = props.folds.get(`line:${id}`) ?? wanted;
  return (
    <div ref={self} class="acp-placed" data-acp-placed={below === null ? "here" : "below"}>
      {below !== null && <TurnLine {...props} id={id} open={open} below={below} />}
      {(below === null || open) && <TurnView {...props} stop={false} />}
    </div>
  );
}

interface LineProps extends TurnProps {
  id: string;
  below: Element | "soon";
  /** Whether the turn is also drawn here, because the reader wants to see it. */
  open: boolean;
}

function TurnLine({ turn, id, below, open, sent, folds, cited }: LineProps) {
  const { link, signIn, emit } = usePanel();
  const { start, items } = turn;
  if (start === null) return null;
  const asking = isAsking(items);
  const { files } = sumOf(changesOf([turn]).flatMap((it) => it.files));
  const waiting =
    asking && !open && below !== "soon" ? entriesOf(items, cited).flatMap(questionsOf) : [];
  return (
    <>
      <div
        class="acp-turnline"
        data-acp-turn-line={id}
        data-status={start.status}
        data-asking={asking}
      >
        <button
          type="button"
          class="acp-turnline-fold"
          aria-expanded={open}
          onClick={() => emit({ t: "fold", key: `line:${id}`, open: !open })}
        >
          <span class="acp-turnline-prompt">{firstLine(turn) || `Turn ${start.number}`}</span>
        </button>
        <span class="acp-turnline-status">
          {start.status === "history" ? "" : turnWords(start, items, link, signIn).text}
        </span>
        {files > 0 && <span class="acp-turnline-files">{filesChanged(files)}</span>}
        <Show {...{ below }} />
      </div>
      {waiting.map(({ name, entry }) => (
        <WhileOutOfView key={name} name={name}>
          {drawEntry(entry, { sent, folds, growing: null, own: NO_CHANGES })}
        </WhileOutOfView>
      ))}
    </>
  );
}

/** Leads to the view below the cell. */
function Show({ below }: { below: Element | "soon" }) {
  const { reveal } = useContext(HostContext);
  if (below !== "soon" && !reveal) return null;
  return (
    <button
      type="button"
      class="acp-ghost"
      data-acp-show=""
      disabled={below === "soon"}
      title="Show this turn below its cell"
      onClick={({ currentTarget }) => below !== "soon" && reveal?.(below, currentTarget)}
    >
      <Icon name="open" /> Show
    </button>
  );
}

/** What the user is asked, in this panel while no better place for it is in view. */
function WhileOutOfView({ name, children }: { name: string; children: ComponentChildren }) {
  const place = useContext(PlaceContext);
  const self = useRef<HTMLDivElement>(null);
  const [held] = useState(() => ({ since: performance.now() }));
  const { holds } = useOnce(name, () => self.current?.closest(".acp-panel") ?? null, self);
  return (
    <div ref={self}>
      {holds && (
        <PlaceContext.Provider value={{ ...place, held }}>{children}</PlaceContext.Provider>
      )}
    </div>
  );
}

/** What of an entry waits for the user, by the name under which it is shown once. */
function questionsOf(entry: Entry): { name: string; entry: Entry }[] {
  if (entry.type === "group") return [];
  const { item, question } = entry;
  const asks = question ?? item;
  if (asks.type === "question" || asks.type === "elicitation")
    return asks.status === "open" ? [{ name: `question:${asks.key}`, entry }] : [];
  if (item.type !== "tool") return [];
  return item.content.flatMap((it) =>
    asksUser(it) && it.session ? [{ name: askedName(it.session), entry }] : [],
  );
}

function firstLine({ start }: Turn): string {
  return line(
    wordsOf(start?.prompt ?? [])
      .trim()
      .split("\n")[0] ?? "",
  );
}
