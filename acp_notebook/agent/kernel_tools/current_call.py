"""Which session calls the function that runs now, so that the function cannot wait for that very session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ...errors import UsageError

_calling: ContextVar[tuple[object, ...]] = ContextVar("acp_calling", default=())


@contextmanager
def called_by(session: object) -> Iterator[None]:
    """Run a function that this session calls."""
    token = _calling.set((*_calling.get(), session))
    try:
        yield
    finally:
        _calling.reset(token)


def calling_session() -> object | None:
    """The session that calls the function that runs now; None if none does."""
    calling = _calling.get()
    return calling[-1] if calling else None


def check_not_called_by(session: object) -> None:
    """Raise UsageError if a function that this session calls would wait for a turn of it."""
    if any(it is session for it in _calling.get()):
        raise UsageError(
            "a turn of this session called the function that runs now, and goes on when the function "
            "returns: it cannot wait for another turn of the same session. Use another session, or "
            "session.start(...) without waiting for it"
        )
