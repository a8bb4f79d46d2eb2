"""What the tests of sessions share: bounded waits for a turn's text, and names of the demo's pids."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import acp_notebook as acp
from acp_notebook.core.snapshot import Notice
from tests.waiting import wait_until

LIMIT_S = 60.0
"""For every wait: much longer than any of them takes, also on a machine that is twenty times slower."""


@contextmanager
def agent(*command: object, **options: Any) -> Iterator[acp.Session]:
    """A session on an agent that ends with the block, whatever other sessions are open on it."""
    session = acp.connect([str(word) for word in command], **options)
    try:
        yield session
    finally:
        session.agent.close()


def begun(turn: acp.Turn) -> acp.Turn:
    """The turn, once the agent has said something in it."""
    wait_until(lambda: turn.text != "", "the agent says something", LIMIT_S)
    return turn


def pids_of(turn: acp.Turn) -> list[int]:
    """What /pid and /spawn say."""
    return [int(word) for word in turn.text.split()[1:]]


def notices(session: acp.Session) -> list[str]:
    """What the client itself told in the session."""
    items = session.transcript.items
    return [
        f"{item.title}: {item.description}"
        for item in items
        if isinstance(item, Notice) and item.source == "client"
    ]
