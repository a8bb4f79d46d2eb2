"""How patient terminals are with commands that are to end; and that nobody else is at work meanwhile."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from acp_notebook.agent.processes.guardian_client import Guardian
from acp_notebook.agent.terminals import terminal
from tests.agent.process_helpers import WAIT_S
from tests.waiting import wait_until

AT_WORK = {"acp-checkpoint", "acp-reconcile", "acp-work"}
AT_MOST_S = 20.0


@pytest.fixture(autouse=True)
def nobody_at_work() -> None:
    """Sessions of earlier tests may still end what they did beside: these tests count open files."""

    def idle() -> bool:
        return not any(it.name in AT_WORK for it in threading.enumerate())

    with suppress(AssertionError):
        wait_until(idle, "what earlier tests began has ended", AT_MOST_S)


@pytest.fixture
def ruthless(terminals_wait: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands that ignore SIGTERM: no need to wait for it."""
    monkeypatch.setattr(terminal, "TERM_GRACE_S", 0.05)


@pytest.fixture(autouse=True)
def terminals_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a test does not say otherwise: who gets SIGTERM ends of it, on a machine of any speed."""
    monkeypatch.setattr(terminal, "TERM_GRACE_S", WAIT_S)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands that end at SIGTERM, on a machine of any speed."""
    monkeypatch.setattr(terminal, "TERM_GRACE_S", WAIT_S)


@pytest.fixture
def unsupervised(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS: the kernel itself is the parent of what it starts."""
    monkeypatch.setattr(Guardian, "supervisor", lambda self, token: None)
