"""A session is resumed by another process, and the agent remembers it."""

from __future__ import annotations

from tests.agents.mock_model import say
from tests.compat.outcome import Found
from tests.compat.subject import Subject


def probe(subject: Subject) -> None:
    if not subject.session.agent.capabilities.resume:
        raise Found("not offered")
    if subject.answers_scripts:
        subject.needs_model()
    first = subject.connect()
    subject.prompt(first, say("First."))
    id = first.id
    first.agent.close()
    resumed = subject.connect().agent.resume(id)
    turn = subject.prompt(resumed, say("I know {prompts}."))
    if subject.answers_scripts and "I know 2." not in turn.text:
        raise Found("defect", "a resumed session has forgotten what was said")
    resumed.agent.close()
