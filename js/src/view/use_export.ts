// Exports the conversation: asks the kernel for a file, part by part, and has the browser save it.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Emit, ExportedMessage, ExportIntent } from "../types";

export type Form = ExportIntent["form"];

/** The kernel answers sooner, if only with an error. */
const ANSWER_MS = 90_000;

/** The browser has read the file by then. */
const KEPT_MS = 60_000;

export interface Export {
  /** What happens, or why it failed; null: nothing to say. */
  readonly note: string | null;
  readonly failed: boolean;
  readonly busy: boolean;
  start(form: Form): void;
  /** Stops it, or removes its note. */
  dismiss(): void;
}

interface Running {
  readonly rid: string;
  readonly form: Form;
  readonly parts: readonly string[];
  readonly of: number;
}

export function useExport(exported: ExportedMessage | null, emit: Emit): Export {
  const [running, setRunning] = useState<Running | null>(null);
  const [error, setError] = useState<string | null>(null);
  const count = useRef(0);
  const fail = (why: string) => {
    setRunning(null);
    setError(why);
  };
  useEffect(() => {
    if (!running || exported?.rid !== running.rid) return;
    if (exported.error !== undefined) return fail(exported.error);
    if (exported.part !== running.parts.length) return; // one that is known
    const { rid, form, parts } = { ...running, parts: [...running.parts, exported.text] };
    if (parts.length < exported.of) {
      setRunning({ rid, form, parts, of: exported.of });
      return emit({ t: "export", rid, form, part: parts.length });
    }
    setRunning(null);
    save(exported.name, exported.mime_type, parts);
  }, [exported]);
  useEffect(() => {
    if (!running) return;
    const timer = setTimeout(() => fail("the kernel did not answer: try again"), ANSWER_MS);
    return () => clearTimeout(timer);
  }, [running]);
  const progress = running && running.of > 1 ? ` ${running.parts.length} of ${running.of}` : "";
  return {
    note: running ? `Exporting…${progress}` : error && `Export failed: ${error}`,
    failed: error !== null,
    busy: running !== null,
    start(form) {
      // Distinguishes this page's requests; the kernel's answers name the page.
      const rid = `${form} ${++count.current}`;
      setError(null);
      setRunning({ rid, form, parts: [], of: 1 });
      emit({ t: "export", rid, form, part: 0 });
    },
    dismiss() {
      setRunning(null);
      setError(null);
    },
  };
}

function save(name: string, type: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
