// Makes sure that the session's model receives the kernel's messages. anywidget 0.11 gives up on a model whose
// module has not loaded within 2 s, which a busy page may need, and drops every later message to it. When
// this runs the module has loaded, so messages go to the model directly.

import type { AnyModel } from "@anywidget/types";

interface RealModel {
  comm?: { on_msg?: (receive: (message: unknown) => unknown) => void };
}

type Handler = (this: unknown, message: unknown) => unknown;

/** The model that anywidget wraps. */
export function realModel(model: AnyModel): Promise<unknown> {
  return model.widget_manager.get_model(String(model.get("self_id")));
}

export async function receiveDirectly(model: AnyModel): Promise<void> {
  const real = (await realModel(model)) as RealModel;
  const handle = ipywidgetsHandler(real);
  if (handle) real.comm?.on_msg?.((message) => handle.call(real, message));
}

/** The handler of ipywidgets, from which anywidget's class inherits. */
function ipywidgetsHandler(real: object): Handler | undefined {
  const own: unknown = Object.getPrototypeOf(real);
  if (own === null || !Object.hasOwn(own as object, "_handle_comm_msg")) return undefined;
  const base = Object.getPrototypeOf(own) as { _handle_comm_msg?: Handler } | null;
  return base?._handle_comm_msg;
}
