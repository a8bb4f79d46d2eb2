"""The anywidgets: one big model per session, a tiny one per turn that borrows its code.

Knows no agent and no protocol: messages go out by `send`, whatever a page sends is handed on as it is.
Every instance carries its whole module in its first message, so the bundle crosses once per session.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from .ipykernel_compat import keep_subshell

STATIC = Path(__file__).parents[1] / "static"

Received = Callable[[Any], None]


@cache
def _source(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


class SessionWidget(anywidget.AnyWidget):
    """A session in the page: its transcript, kept in step by messages."""

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    self_id = traitlets.Unicode().tag(sync=True)
    """The model's own id: a page needs it to find its outputs, and anywidget does not tell it."""

    def __init__(self, received: Received) -> None:
        super().__init__(_esm=_source("session.js"), _css=_source("session.css"), **_ids())
        # On whatever thread the kernel handles comms: the receiver only hands the message on.
        self.on_msg(lambda _widget, content, _buffers: received(content))
        keep_subshell(self.comm)


class TurnWidget(anywidget.AnyWidget):
    """One turn of a session, below the cell that asked: the session's code, mounted once more."""

    _esm = traitlets.Unicode().tag(sync=True)
    session = traitlets.Unicode().tag(sync=True)
    """The model id of the session's widget."""
    turn = traitlets.Unicode().tag(sync=True)
    """The turn's id; it may not have started yet."""
    self_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, session: SessionWidget, turn: str) -> None:
        super().__init__(_esm=_source("turn.js"), session=session.model_id, turn=turn, **_ids())


def _ids() -> dict[str, str]:
    made = uuid4().hex
    return {"model_id": made, "self_id": made}


def view_bundle(widget: anywidget.AnyWidget, text: str) -> dict[str, Any]:
    """What is displayed for a widget; anywidget's own text holds a memory address."""
    view = {"version_major": 2, "version_minor": 1, "model_id": widget.model_id}
    return {"application/vnd.jupyter.widget-view+json": view, "text/plain": text}
