"""Forks a session: the copy remembers, and the two diverge."""

from __future__ import annotations

from tests.agents.mock_model import say
from tests.compat.outcome import Found
from tests.compat.subject import Subject


def probe(subject: Subject) -> None:
    if not subject.session.agent.capabilities.fork:
        raise Found("not offered")
    subject.needs_model()
    session = subject.session.agent.new_session()
    subject.prompt(session, say("Before the fork."))
    copy = session.fork()
    assert copy.id != session.id, "the copy has its own id"
    if "I know 2." not in subject.prompt(copy, say("I know {prompts}.")).text:
        raise Found("defect", "the copy has forgotten what was said")
    if "I know 2." not in subject.prompt(session, say("I know {prompts}.")).text:
        raise Found("defect", "what is said to the copy is said to the first one, too")
    copy.close()
    session.close()
