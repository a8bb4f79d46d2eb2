// The widget of a fan-out's table: one model and one connection for all of its runs.

import type { AnyModel, InitializeProps, RenderProps } from "@anywidget/types";
import { h, render } from "preact";
import { receiveDirectly } from "./comm_workaround";
import { attach, watchKernel } from "./document";
import { perFrame } from "./frame_schedule";
import { RunsStore } from "./runs_store";
import type { Bundle, FromRuns, ToRuns } from "./types";
import { RunsView } from "./view/runs";

/** While runs go on, the page says what it has: a lost last message is sent again. */
export const SYNC_MS = 4000;

type Mount = (el: HTMLElement, signal: AbortSignal) => void;

export default () => {
  let mount: Mount | undefined;
  return {
    initialize({ model, signal }: InitializeProps): void {
      mount = open(model, signal);
    },
    render({ el, signal }: RenderProps): void {
      mount?.(el, signal);
    },
  };
};

export function open(model: AnyModel, signal: AbortSignal): Mount {
  const store = new RunsStore(perFrame());
  const views = new Map<object, ReadonlySet<number>>();
  const view = Math.random().toString(36).slice(2);
  const note: Bundle = { "text/plain": String(model.get("note") ?? "") };
  const page = attach(
    model.widget_manager,
    String(model.get("self_id")),
    (_, present) => store.bundle ?? (Object.keys(present).length > 0 ? present : note),
    () => store.places,
  );
  const send = (message: ToRuns) => model.send(message);
  const opened = () => new Set([...views.values()].flatMap((runs) => [...runs]));
  const sync = (have = store.have) =>
    send({ t: "table_sync", view, have, document: page !== null, open: [...opened()] });
  const receive = (message: unknown) => {
    if (!isFromRuns(message)) return;
    const wasOver = store.isOver;
    if (!store.receive(message)) return sync(0);
    if (message.t === "table_static") page?.placed();
    page?.touch(message.t === "table_static" || (!wasOver && store.isOver));
  };
  model.on("msg:custom", receive);
  receiveDirectly(model).catch((error: unknown) => console.debug("acp_notebook:", error));
  watchKernel(
    model.widget_manager,
    {
      gone: () => store.setLink("gone"),
      lost: () => store.setLink("offline"),
      back: () => sync(0),
    },
    signal,
  );
  const timer = setInterval(() => {
    if (!store.isOver && store.snapshot.link !== "gone") sync();
  }, SYNC_MS);
  signal.addEventListener("abort", () => {
    clearInterval(timer);
    model.off("msg:custom", receive);
    try {
      send({ t: "table_bye", view });
    } catch {
      // The comm is closed already, so the kernel knows.
    }
  });
  sync(0);

  const setOpen = (of: object, runs: ReadonlySet<number> | null) => {
    if (runs === null) views.delete(of);
    else views.set(of, runs);
    store.setOpen(opened());
    if (store.snapshot.link === "live") sync();
  };
  return (el, viewSignal) => {
    const mine = {};
    const draw = () =>
      render(
        h(RunsView, {
          snapshot: store.snapshot,
          stop: () => send({ t: "stop_runs" }),
          apply: (run, operation) => {
            store.setApplying(run, operation);
            if (operation === null) return send({ t: "apply_run", run });
            const { t, file, hunk } = operation;
            const of = { ...(file ? { file } : {}), ...(hunk ? { hunk } : {}) };
            send({ t: "change_run", run, operation: t, ...of });
          },
          setOpen: (runs) => setOpen(mine, runs),
        }),
        el,
      );
    const leave = store.subscribe(draw);
    viewSignal.addEventListener("abort", () => {
      leave();
      setOpen(mine, null);
      render(null, el);
    });
    draw();
  };
}

const KNOWN: { readonly [T in FromRuns["t"]]: true } = {
  table: true,
  rows: true,
  details: true,
  table_static: true,
  apply_ended: true,
};

function isFromRuns(message: unknown): message is FromRuns {
  return (
    typeof message === "object" && message !== null && Object.hasOwn(KNOWN, (message as FromRuns).t)
  );
}
