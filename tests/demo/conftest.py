"""Fixtures that start demo agents, and end them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.demo.demo_client import FULL, Demo, Json, Starter


@pytest.fixture
def start() -> Iterator[Starter]:
    """Start demo agents; all are ended with the test."""
    started: list[Demo] = []

    def starter(capabilities: Json | None = None, *, initialize: bool = True, **env: str) -> Demo:
        started.append(Demo(env))
        if initialize:
            started[-1].initialize(capabilities)
        return started[-1]

    yield starter
    for demo in started:
        demo.kill()


@pytest.fixture(scope="module")
def shared() -> Iterator[Demo]:
    """One agent for the many tests that only need a session of their own; its client can do everything."""
    demo = Demo({"ACP_DEMO_PROBE": "a value"})
    demo.initialize(FULL)
    yield demo
    demo.kill()
