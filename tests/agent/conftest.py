"""How patient terminals are with commands that are to end."""

from __future__ import annotations

import pytest

from acp_notebook.agent.terminals import terminal
from tests.agent.process_helpers import WAIT_S


@pytest.fixture
def ruthless(monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands that ignore SIGTERM: no need to wait for it."""
    monkeypatch.setattr(terminal, "TERM_GRACE_S", 0.05)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands that end at SIGTERM, on a machine of any speed."""
    monkeypatch.setattr(terminal, "TERM_GRACE_S", WAIT_S)
