"""Exceptions as tracebacks, with what caused them; the shell's own frames left out."""

from __future__ import annotations

from pathlib import PurePath
from traceback import TracebackException
from typing import Any

from ...core.records import Content
from .labels import Label

FRAMES = 50
"""Of each exception, the last ones: a recursion has a thousand, and its end tells as much."""

CHAINED = 10
"""Causes of causes."""

SHELL_PARTS = frozenset({"IPython", "ipykernel"})


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    if not isinstance(value, BaseException):
        return None
    told = TracebackException.from_exception(value, limit=-FRAMES, compact=True)
    _tidy(told)
    return (label.resource(f"{label.heading(type(value).__name__)}\n\n{''.join(told.format())}"),)


def _tidy(told: TracebackException) -> None:
    """Take out the frames of the shell that ran the cell, and what lies too deep to matter."""
    at: TracebackException | None = told
    for _ in range(CHAINED):
        if at is None:
            return
        while at.stack and SHELL_PARTS & set(PurePath(at.stack[0].filename).parts):
            del at.stack[0]
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    if at is not None:
        at.__cause__ = at.__context__ = None
