"""Helpers for session tests: bounded waits for a turn, pids that the demo agent reports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import acp_notebook as acp
from acp_notebook.core.snapshot import Notice
from tests.waiting import wait_until

LIMIT_S = 60.0
"""The timeout of every wait: much longer than any takes, even on a machine twenty times slower."""


@contextmanager
def agent(*command: object, **options: Any) -> Iterator[acp.Session]:
    """A session on an agent that is closed, with all its sessions, at the end of the block."""
    session = acp.connect([str(word) for word in command], **options)
    try:
        yield session
    finally:
        session.agent.close()


def begun(turn: acp.Turn) -> acp.Turn:
    """Wait until the agent has said something in the turn."""
    wait_until(lambda: turn.text != "", "the agent says something", LIMIT_S)
    return turn


def pids_of(turn: acp.Turn) -> list[int]:
    """The pids in the answers to /pid and /spawn."""
    return [int(word) for word in turn.text.split()[1:]]


def notices(session: acp.Session) -> list[str]:
    """The notices of the client in the session."""
    items = session.transcript.items
    return [
        f"{item.title}: {item.description}"
        for item in items
        if isinstance(item, Notice) and item.source == "client"
    ]
