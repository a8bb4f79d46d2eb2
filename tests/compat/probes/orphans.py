"""Closes the agent during a command: no process is left."""

from __future__ import annotations

import os
from contextlib import suppress

import acp_notebook as acp
from tests.agents.mock_model import do, say, script
from tests.compat.processes import family, kill, mark_of, running
from tests.compat.subject import TURN_S, Subject
from tests.waiting import wait_until

GONE_S = 10.0


def probe(subject: Subject) -> None:
    session = subject.connect()
    assert session.agent.pid is not None
    mark = mark_of(session.agent.pid)
    line = f"sleep {100_000 + os.getpid()}"  # unique to this run: no other process has it in its command line
    if subject.answers_scripts and subject.model_reached():
        turn = session.start(script(do("run", line=line), say("done")))
        with suppress(AssertionError):  # an agent without commands is closed anyway
            wait_until(lambda: turn.done or bool(running(line)), "the command runs", TURN_S)
    session.agent.close()
    try:
        wait_until(lambda: not family(mark) and not running(line), "nothing is left", GONE_S)
    finally:
        kill(family(mark) | running(line))
    assert isinstance(session, acp.Session)
