// The widget below a cell that offers agents. When one was started, its session's own widget takes this place.

import type { AnyModel, InitializeProps, RenderProps } from "@anywidget/types";
import { h, render } from "preact";
import { attach } from "./document";
import { announce, shell } from "./shell";
import type { Mount, PagePicker } from "./shell";
import type { Emit, PickedMessage } from "./types";
import { AgentsAlone } from "./view/agents_alone";

type Offer = Pick<RenderProps, "model" | "el" | "signal" | "host">;

/** As turn.js: the page gives a widget 10 s to load, and a busy one may need more. */
const TRIES = 6;

export default {
  initialize({ model, signal }: InitializeProps): void {
    const note = String(model.get("note"));
    const id = text(model, "self_id");
    const manager: unknown = model.widget_manager;
    if (note) attach(manager, id, () => ({ "text/plain": note }))?.placed(); // none: in a side panel
    const draw: PagePicker["draw"] = (el, until, host) => offer({ model, el, signal: until, host });
    const source = () => text(model, "source");
    announce(shell().pickers, { id, manager, source, draw }, signal);
  },
  render: offer,
};

function offer({ model, el, signal, host }: Offer): void {
  let picked: ReadonlyMap<string, PickedMessage> = new Map();
  let shown = "";
  const show = (session: string) => {
    if (session === "" || session === shown) return;
    shown = session;
    render(null, el);
    void mountSession(session, el, signal, text(model, "self_id"), host);
  };
  const emit: Emit = (intent) => model.send(intent);
  const draw = () => {
    if (shown === "")
      render(h(AgentsAlone, { picked, agent: text(model, "agent"), emit, show }), el);
  };
  const receive = (message: unknown) => {
    if (!isPicked(message)) return;
    picked = new Map(picked).set(message.rid, message);
    draw();
  };
  const changed = () => show(text(model, "session"));
  model.on("msg:custom", receive);
  model.on("change:session", changed);
  signal.addEventListener("abort", () => {
    model.off("msg:custom", receive);
    model.off("change:session", changed);
    if (shown === "") render(null, el);
  });
  changed();
  draw();
}

async function mountSession(
  session: string,
  el: HTMLElement,
  signal: AbortSignal,
  modelId: string,
  host: RenderProps["host"],
): Promise<void> {
  for (let tries = 1; !signal.aborted; tries++) {
    try {
      const widget = await host.getWidget<{ mount: Mount }>(`anywidget:${session}`);
      widget.exports.mount(null, el, signal, modelId, host);
      return;
    } catch (error) {
      if (tries < TRIES && /timed out/i.test(String(error))) continue;
      el.textContent = "The session was started, but this application cannot show it here.";
      return;
    }
  }
}

function text(model: AnyModel, name: string): string {
  return String(model.get(name) ?? "");
}

function isPicked(message: unknown): message is PickedMessage {
  return (
    typeof message === "object" && message !== null && (message as PickedMessage).t === "picked"
  );
}
