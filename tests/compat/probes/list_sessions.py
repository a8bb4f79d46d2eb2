"""The sessions that the agent keeps are listed."""

from __future__ import annotations

from tests.compat.outcome import Found
from tests.compat.subject import Subject


def probe(subject: Subject) -> None:
    session = subject.session
    if not session.agent.capabilities.list:
        raise Found("not offered")
    found = {it.id for it in session.agent.sessions()} | {
        it.id for it in session.agent.sessions(cwd=subject.cwd)
    }
    if not found:
        raise Found("defect", "lists no session, though there are some")
