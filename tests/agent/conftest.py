"""How patient terminals are with commands that are to end."""

from __future__ import annotations

import pytest

from acp_notebook.agent.terminals import terminal
from tests.agent.process_helpers import WAIT_S


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
