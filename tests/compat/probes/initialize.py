"""The agent starts and introduces itself."""

from __future__ import annotations

from tests.compat.subject import Subject


def probe(subject: Subject) -> None:
    subject.version = subject.session.agent.version or subject.version
