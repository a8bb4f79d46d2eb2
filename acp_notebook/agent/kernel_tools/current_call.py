"""Which session calls the function that runs now, and which sessions wait for which.

A session must not wait for itself: neither directly, in a function that it calls, nor through other sessions.
Usable from any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ...errors import UsageError

_calling: ContextVar[tuple[object, ...]] = ContextVar("acp_calling", default=())

_lock = threading.Lock()
_waits: list[tuple[object, object]] = []
"""Who waits for a turn of whom, once for each call that waits."""


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


# ---- who waits for whom


@contextmanager
def waiting(asker: object, answerer: object) -> Iterator[None]:
    """The asker waits for a turn of the answerer."""
    edge = asker, answerer
    with _lock:
        _waits.append(edge)
    try:
        yield
    finally:
        with _lock:
            del _waits[next(at for at, it in enumerate(_waits) if it is edge)]


def waits_for(session: object, other: object) -> bool:
    """Whether the session waits for a turn of the other, directly or through further sessions."""
    with _lock:
        waits = list(_waits)
    reached = [session]
    for each in reached:  # grows as we go
        reached += [b for a, b in waits if a is each and all(it is not b for it in reached)]
    return any(it is other for it in reached[1:])


def calls_waiting(answerer: object) -> int:
    """How many calls wait for turns of this session."""
    with _lock:
        return sum(it is answerer for _, it in _waits)


def check_not_called_by(session: object) -> None:
    """Raise UsageError if a function would wait for a turn of a session that waits for the function."""
    if any(it is session or waits_for(session, it) for it in _calling.get()):
        raise UsageError(
            "a turn of this session waits for the function that runs now, and goes on when the function "
            "returns: it cannot wait for another turn of the same session. Use another session, or "
            "session.start(...) without waiting for it"
        )


@contextmanager
def function_waits_for(session: object) -> Iterator[None]:
    """A function that a session calls waits for a turn of this session. Raises UsageError."""
    check_not_called_by(session)
    caller = calling_session()
    if caller is None:
        yield
    else:
        with waiting(caller, session):
            yield
