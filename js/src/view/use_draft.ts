// The prompt that is being written: its text and its images. A prompt that the kernel refused comes back.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Snapshot } from "../store";
import type { Draft, Editing, Picture, TurnItem } from "../types";
import { withFiles } from "./images";
import { usePanel } from "./panel";
import { attachmentsOf, picturesOf, wordsOf } from "./prompt_text";

const NOTHING: Draft = { text: "", images: [] };

export interface DraftState {
  readonly field: { current: HTMLTextAreaElement | null };
  readonly text: string;
  readonly images: readonly Picture[];
  /** Why an image was not added. */
  readonly note: string;
  readonly isEmpty: boolean;
  /** The earlier prompt that is being edited. */
  readonly editing: Editing | null;
  /** The field has this text now. */
  write(text: string, images?: readonly Picture[]): void;
  /** Put this text into the field. */
  replace(text: string, caret?: number): void;
  addFiles(files: readonly File[]): Promise<void>;
  /** Say why something was not added. */
  say(note: string): void;
  /** Put the prompt of an earlier turn into the field; what is there comes back later. */
  edit(turn: TurnItem): void;
  /** Leave the earlier prompt as it is. */
  stopEditing(): void;
  /** Clear the field; returns what was in it. */
  take(): Draft;
}

export function useDraft(initial: Draft, returned: Snapshot["returned"]): DraftState {
  const { emit } = usePanel();
  const [text, setText] = useState(initial.text);
  const [images, setImages] = useState<readonly Picture[]>(initial.images);
  const [note, setNote] = useState("");
  const [editing, setEditing] = useState<Editing | null>(initial.editing ?? null);
  const field = useRef<HTMLTextAreaElement>(null);
  const taken = useRef<Draft | null>(null);

  const write = (next: string, pictures = images, edited = editing) => {
    setText(next);
    setImages(pictures);
    setEditing(edited);
    emit({ t: "draft", draft: { text: next, images: pictures, editing: edited } });
  };
  const replace = (
    next: string,
    caret = next.length,
    pictures: readonly Picture[] = images,
    edited = editing,
  ) => {
    write(next, pictures, edited);
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
    stopEditing();
    return draft;
  };
  const stopEditing = () => {
    const { text: next, images: pictures } = editing?.kept ?? NOTHING;
    setNote("");
    replace(next, next.length, pictures, null);
  };
  const edit = (turn: TurnItem) => {
    const words = wordsOf(turn.prompt);
    const partial = attachmentsOf(turn.prompt) > 0 && !words.includes("@");
    const kept = editing?.kept ?? { text: field.current?.value ?? text, images };
    setNote("");
    replace(words, words.length, picturesOf(turn.prompt), {
      turn: turn.key,
      number: turn.number,
      partial,
      kept,
    });
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
  const kept = { field, text, images, note, isEmpty, editing };
  return { ...kept, write, replace, addFiles, say: setNote, edit, stopEditing, take };
}
