// The prompt that is being written: its text and its images. A prompt that the kernel refused comes back.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Snapshot } from "../store";
import type { Draft, Picture } from "../types";
import { withFiles } from "./images";
import { usePanel } from "./panel";

export interface DraftState {
  readonly field: { current: HTMLTextAreaElement | null };
  readonly text: string;
  readonly images: readonly Picture[];
  /** Why an image was not added. */
  readonly note: string;
  readonly isEmpty: boolean;
  /** The field has this text now. */
  write(text: string, images?: readonly Picture[]): void;
  /** Put this text into the field. */
  replace(text: string, caret?: number): void;
  addFiles(files: readonly File[]): Promise<void>;
  /** Clear the field; returns what was in it. */
  take(): Draft;
}

export function useDraft(initial: Draft, returned: Snapshot["returned"]): DraftState {
  const { emit } = usePanel();
  const [text, setText] = useState(initial.text);
  const [images, setImages] = useState<readonly Picture[]>(initial.images);
  const [note, setNote] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const taken = useRef<Draft | null>(null);

  const write = (next: string, pictures = images) => {
    setText(next);
    setImages(pictures);
    emit({ t: "draft", draft: { text: next, images: pictures } });
  };
  const replace = (next: string, caret = next.length, pictures = images) => {
    write(next, pictures);
    const el = field.current;
    if (!el) return;
    el.value = next;
    el.setSelectionRange(caret, caret);
  };
  const addFiles = async (files: readonly File[]) => {
    const added = await withFiles(images, files);
    setNote(added.refused.join(" "));
    write(field.current?.value ?? text, added.images);
  };
  const take = () => {
    const draft = { text: text.trim() === "" ? "" : text, images };
    taken.current = draft;
    setNote("");
    write("", []);
    return draft;
  };
  useEffect(() => {
    const mine = taken.current;
    if (!returned || !mine || mine.text !== returned.text) return; // of another page or panel
    taken.current = null;
    const now = field.current?.value ?? text;
    const both = now.trim() === "" ? mine.text : `${mine.text}\n${now}`;
    replace(both, both.length, [...mine.images, ...images]);
  }, [returned]);
  const isEmpty = text.trim() === "" && images.length === 0;
  return { field, text, images, note, isEmpty, write, replace, addFiles, take };
}
