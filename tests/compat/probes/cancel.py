"""Cancels a turn in the middle, three times; the next prompt works."""

from __future__ import annotations

import acp_notebook as acp
from tests.agents.mock_model import script, talk
from tests.compat.outcome import Found
from tests.compat.subject import TURN_S, Subject
from tests.waiting import wait_until

TIMES = 3


def probe(subject: Subject) -> None:
    session = subject.session
    if subject.answers_scripts:
        subject.needs_model()
    pid = session.agent.pid
    for _ in range(TIMES):
        _cancelled(subject, session)
        if not subject.usable(session):
            raise Found("defect", "the prompt after a cancel is not answered as it should be")
    if session.agent.pid != pid:
        raise Found("defect", "does not end a cancelled turn, and had to be started again")


def _cancelled(subject: Subject, session: acp.Session) -> None:
    turn = session.start(script(talk()))
    wait_until(lambda: bool(turn.text or turn.tool_calls or turn.done), "it has begun", TURN_S)
    turn.cancel()
    turn.wait(TURN_S)
    assert turn.status != "running", turn.status
    assert turn.stop_reason == "cancelled", turn.stop_reason
