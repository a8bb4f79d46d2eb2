"""Sessions on the built-in agent, closed after the test whatever happens in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import acp_notebook as acp
from tests.patience import be_patient

Demo = Callable[..., acp.Session]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a test wants a grace to pass, it says so itself."""
    be_patient(monkeypatch)


@pytest.fixture
def demo() -> Iterator[Demo]:
    """Connects to the demo agent, as often as a test wants; keywords are those of acp.connect."""
    opened: list[acp.Session] = []

    def connect(**options: Any) -> acp.Session:
        opened.append(acp.connect("demo", **options))
        return opened[-1]

    yield connect
    for session in opened:
        session.agent.close()


@pytest.fixture
def session(demo: Demo) -> acp.Session:
    return demo(permissions="allow")
