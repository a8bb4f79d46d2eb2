"""A session is forked: the copy remembers, and has an id of its own."""

from __future__ import annotations

import json

from tests.agents.mock_model import say
from tests.compat.outcome import Found
from tests.compat.subject import START_S, Subject


def probe(subject: Subject) -> None:
    session = subject.session
    if not session.agent.capabilities.fork:
        raise Found("not offered")
    subject.needs_model()
    subject.prompt(session, say("Before the fork."))
    asked = {"sessionId": session.id, "cwd": str(subject.cwd), "mcpServers": []}
    answer = json.loads(subject.call(session, "session/fork", asked, START_S))
    assert answer["sessionId"] != session.id, "the copy has its own id"
