"""A second session on the same process, with an id of its own."""

from __future__ import annotations

from tests.compat.subject import Subject


def probe(subject: Subject) -> None:
    first = subject.session
    second = first.agent.new_session()
    assert second.id, "the session has an id"
    assert second.id != first.id, "each has its own"
    second.close()
