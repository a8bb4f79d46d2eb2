// Makes sure that the session's model hears its kernel. anywidget 0.11 rejects a model for good if its
// module has not loaded within 2 s, which a busy page may need, and drops every message to it from then
// on. By the time that this runs the module has loaded, so messages go to the model directly.

import type { AnyModel } from "@anywidget/types";

interface RealModel {
  comm?: { on_msg?: (receive: (message: unknown) => unknown) => void };
}

type Handler = (this: unknown, message: unknown) => unknown;

/** The model behind anywidget's face of it. */
export function realModel(model: AnyModel): Promise<unknown> {
  return model.widget_manager.get_model(String(model.get("self_id")));
}

export async function hearAll(model: AnyModel): Promise<void> {
  const real = (await realModel(model)) as RealModel;
  const handle = ipywidgetsHandler(real);
  if (handle) real.comm?.on_msg?.((message) => handle.call(real, message));
}

/** The handler of the class that anywidget's own stands upon. */
function ipywidgetsHandler(real: object): Handler | undefined {
  const own: unknown = Object.getPrototypeOf(real);
  if (own === null || !Object.hasOwn(own as object, "_handle_comm_msg")) return undefined;
  const base = Object.getPrototypeOf(own) as { _handle_comm_msg?: Handler } | null;
  return base?._handle_comm_msg;
}
