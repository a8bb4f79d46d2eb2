"""Describe exceptions by their tracebacks and causes, without the frames of IPython and ipykernel."""

from __future__ import annotations

from pathlib import PurePath
from traceback import TracebackException
from typing import Any

from ...core.records import Content
from .labels import Label

FRAMES = 50
"""The last frames of each exception are kept: a recursion has a thousand, and the last ones suffice."""

CHAINED = 10
"""The longest chain of causes that is kept."""

SHELL_PARTS = frozenset({"IPython", "ipykernel"})


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    if not isinstance(value, BaseException):
        return None
    traceback = TracebackException.from_exception(value, limit=-FRAMES, compact=True)
    _tidy(traceback)
    return (label.resource(f"{label.heading(type(value).__name__)}\n\n{''.join(traceback.format())}"),)


def _tidy(traceback: TracebackException) -> None:
    """Remove the frames of the shell that ran the cell, and causes too deep to matter."""
    at: TracebackException | None = traceback
    for _ in range(CHAINED):
        if at is None:
            return
        while at.stack and SHELL_PARTS & set(PurePath(at.stack[0].filename).parts):
            del at.stack[0]
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    if at is not None:
        at.__cause__ = at.__context__ = None
