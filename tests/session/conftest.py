"""Sessions on the demo agent, closed after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import acp_notebook as acp
from tests.patience import be_patient

Demo = Callable[..., acp.Session]


@pytest.fixture(autouse=True)
def patience() -> None:
    """A test that wants a timeout to pass sets it itself."""
    be_patient()


@pytest.fixture
def demo() -> Iterator[Demo]:
    """Connects to the demo agent with the keywords of acp.connect."""
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
