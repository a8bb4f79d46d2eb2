// A form while it is filled in: the drafts of its fields and what is wrong with them. What the kernel says
// about a field holds until the field is edited.

import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import type { Sent } from "../store";
import type { FormValues, FormField } from "../types";
import { draftsOf, filled } from "./form";
import type { Draft, Drafts, Wrong } from "./form";
import { PlaceContext } from "./place";

export interface FormState {
  readonly drafts: Drafts;
  /** What is wrong with a field; with the name "", with the whole form. */
  wrongOf(name: string): string | undefined;
  write(name: string, draft: Draft): void;
  /** The values, and the index of the first field that is wrong. */
  check(): { values: FormValues; firstWrong: number | null };
}

/** `key`: of the form, which may have been filled in in part in another place. `here`: whether it is here now. */
export function useForm(
  key: string,
  fields: readonly FormField[],
  sent: Sent | undefined,
  here: boolean,
): FormState {
  const { forms } = useContext(PlaceContext).places;
  const [drafts, setDrafts] = useState(() => forms.get(key) ?? draftsOf(fields));
  useEffect(() => {
    if (here) setDrafts((now) => forms.get(key) ?? now);
  }, [here]);
  const [found, setFound] = useState<Wrong>(new Map());
  const [edited, setEdited] = useState<ReadonlySet<string>>(new Set());
  const reported = useMemo(() => new Map(Object.entries(sent?.wrong ?? {})), [sent?.wrong]);
  return {
    drafts,
    wrongOf: (name) => found.get(name) ?? (edited.has(name) ? undefined : reported.get(name)),
    write(name, draft) {
      const now = new Map(drafts).set(name, draft);
      forms.set(key, now);
      setDrafts(now);
      setEdited(new Set(edited).add(name));
      if (found.has(name)) setFound(new Map([...found].filter(([other]) => other !== name)));
    },
    check() {
      const { values, wrong } = filled(fields, drafts);
      setFound(wrong);
      setEdited(new Set());
      const first = fields.findIndex(({ name }) => wrong.has(name));
      return { values, firstWrong: wrong.size === 0 ? null : first };
    },
  };
}
