// How other parts of the panel put something into its composer: an earlier prompt to edit, an example.

import { createContext } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { TurnItem } from "../types";

/** What to put into the field; each time a new object. */
export type Wanted = { readonly edit: TurnItem } | { readonly insert: string };

export interface Writing {
  edit(turn: TurnItem): void;
  insert(text: string): void;
}

/** null where there is no composer: below a cell. */
export const WritingContext = createContext<Writing | null>(null);

export function useWriting(): { writing: Writing; wanted: Wanted | null } {
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const writing = useMemo(
    () => ({
      edit: (turn: TurnItem) => setWanted({ edit: turn }),
      insert: (text: string) => setWanted({ insert: text }),
    }),
    [],
  );
  return { writing, wanted };
}
