// A turn's own widget: the module of its session does all the work.
const mine = (globalThis[Symbol.for("acp_notebook.widgets")] ??= new Map());

export default {
  initialize({ model }) {
    mine.set(model.get("self_id"), [model.get("session"), model.get("turn")]);
  },
  async render({ model, el, signal, host }) {
    try {
      const session = await host.getWidget("anywidget:" + model.get("session"));
      session.exports.mount(model.get("turn"), el, signal, model.get("self_id"));
    } catch {
      el.textContent = "This turn's session is not in this kernel any more. Run the cell again.";
    }
  },
};
