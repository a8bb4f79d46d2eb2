"""The anywidgets: one large model per session, a tiny one per turn that reuses its code, one per fan-out.

Independent of agents and the protocol: messages go out through `send`, and messages from a page are handed on
unread. anywidget sends a widget's whole module with every instance, so only the session's has the large one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from .ipykernel_compat import handle_without_events, keep_subshell
from .runtime import client_here

STATIC = Path(__file__).parents[1] / "static"

OnMessage = Callable[[Any], None]
OnClientMessage = Callable[[Any, str | None], None]
"""Called with the message, and the id of the connection that it came by."""


@cache
def _source(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


class SessionWidget(anywidget.AnyWidget):
    """Shows a session in the page; messages keep its transcript up to date."""

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    self_id = traitlets.Unicode().tag(sync=True)
    """The model's own id: a page needs it to find its outputs, and anywidget does not provide it."""

    def __init__(self, on_message: OnClientMessage) -> None:
        super().__init__(_esm=_source("session.js"), _css=_source("session.css"), **_ids())
        # Runs on whichever thread the kernel handles comms, so the callback must only hand the message on.
        self.on_msg(lambda _widget, content, _buffers: on_message(content, client_here()))
        keep_subshell(self.comm)
        handle_without_events(self.comm)


class TurnWidget(anywidget.AnyWidget):
    """Shows one turn of a session below its cell, with the code of the session's widget."""

    _esm = traitlets.Unicode().tag(sync=True)
    session = traitlets.Unicode().tag(sync=True)
    """The model id of the session's widget."""
    turn = traitlets.Unicode().tag(sync=True)
    """The turn's id; the turn may not have started yet."""
    self_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, session: SessionWidget, turn: str) -> None:
        super().__init__(_esm=_source("turn.js"), session=session.model_id, turn=turn, **_ids())
        handle_without_events(self.comm)


class AgentsWidget(anywidget.AnyWidget):
    """Offers agents where there is no session yet; then shows the session that was started."""

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    agent = traitlets.Unicode().tag(sync=True)
    """The agent that the cell named, and that is missing; empty: offer all."""
    note = traitlets.Unicode().tag(sync=True)
    """What the file keeps until a session was started."""
    session = traitlets.Unicode().tag(sync=True)
    """The model id of the session's widget; empty until one was started."""
    source = traitlets.Unicode().tag(sync=True)
    """The source of the cell that a page adds for a session of its side panel; empty before."""
    self_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, agent: str, note: str, on_message: OnMessage) -> None:
        code = {"_esm": _source("agents.js"), "_css": _source("session.css")}
        super().__init__(**code, agent=agent, note=note, **_ids())
        self.on_msg(lambda _widget, content, _buffers: on_message(content))
        keep_subshell(self.comm)
        handle_without_events(self.comm)


class RunsWidget(anywidget.AnyWidget):
    """Shows the table of a fan-out below its cell: one model for all of its runs."""

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    note = traitlets.Unicode().tag(sync=True)
    """What the file keeps until the kernel has rendered the table."""
    self_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, note: str, on_message: OnMessage) -> None:
        super().__init__(_esm=_source("runs.js"), _css=_source("runs.css"), note=note, **_ids())
        self.on_msg(lambda _widget, content, _buffers: on_message(content))
        keep_subshell(self.comm)
        handle_without_events(self.comm)


def _ids() -> dict[str, str]:
    id = uuid4().hex
    return {"model_id": id, "self_id": id}


def view_bundle(
    widget: anywidget.AnyWidget, text: str, shows: dict[str, str | None] | None = None
) -> dict[str, Any]:
    """The mime bundle that displays a widget; anywidget's own text contains a memory address.

    `shows`: what it shows, for pages that keep widgets out of the document (js/lab/src/transcripts.ts).
    """
    view: dict[str, Any] = {"version_major": 2, "version_minor": 1, "model_id": widget.model_id}
    if shows is not None:
        view["acp_notebook"] = shows
    return {"application/vnd.jupyter.widget-view+json": view, "text/plain": text}
