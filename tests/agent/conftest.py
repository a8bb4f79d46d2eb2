"""Fixtures for terminals that must end, and a wait for background work of earlier tests."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.processes.guardian_client import Guardian
from tests.agent.process_helpers import WAIT_S
from tests.waiting import wait_until

AT_WORK = {"acp-checkpoint", "acp-reconcile", "acp-work"}
AT_MOST_S = 20.0


@pytest.fixture(autouse=True)
def nobody_at_work() -> None:
    """Wait for background work of earlier tests' sessions: these tests count open files."""

    def idle() -> bool:
        return not any(it.name in AT_WORK for it in threading.enumerate())

    with suppress(AssertionError):
        wait_until(idle, "what earlier tests began has ended", AT_MOST_S)


@pytest.fixture
def ruthless(terminals_wait: None) -> None:
    """For commands that ignore SIGTERM: no need to wait for it."""
    timeouts.replace(command_term_grace=0.05)


@pytest.fixture(autouse=True)
def terminals_wait() -> None:
    """Where a test does not say otherwise: who gets SIGTERM ends of it, on a machine of any speed."""
    timeouts.replace(command_term_grace=WAIT_S)


@pytest.fixture
def patient() -> None:
    """For commands that end at SIGTERM, on a machine of any speed."""
    timeouts.replace(command_term_grace=WAIT_S)


@pytest.fixture
def unsupervised(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS: the kernel itself is the parent of the processes it starts."""
    monkeypatch.setattr(Guardian, "supervisor", lambda self, token: None)
