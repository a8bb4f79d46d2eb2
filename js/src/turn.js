// A turn's own widget: the module of its session does all the work.
const mine = (globalThis[Symbol.for("acp_notebook.widgets")] ??= new Map());

export default {
  initialize({ model }) {
    mine.set(model.get("self_id"), [model.get("session"), model.get("turn")]);
  },
  async render({ model, el, signal, host }) {
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        const session = await host.getWidget("anywidget:" + model.get("session"));
        return session.exports.mount(model.get("turn"), el, signal, model.get("self_id"), host);
      } catch (error) {
        // It gives a session 10 s to load; a busy page may need more.
        if (tries < 6 && /timed out/i.test(String(error))) continue;
        el.textContent = "This turn's session is no longer in this kernel. Run the cell again.";
        return;
      }
    }
  },
};
