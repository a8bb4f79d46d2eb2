"""The state of one agent that its sessions share.

Knows no connection (`agent_link`) and no session. Runs on the loop thread; any thread can read the facts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar

from ..core.redaction import Redactor
from ..core.requests import AgentFacts
from . import loop
from .known_agents.quirks import Quirks
from .tap import Tap

T = TypeVar("T")

STRAY_KEPT = 200
"""How many stdout lines that are not messages are kept for the user."""


class AgentState:
    """Holds the name, facts, quirks and background tasks of one agent."""

    def __init__(
        self,
        name: str,
        facts: AgentFacts,
        quirks: Quirks,
        *,
        identity: str = "",
        redactor: Redactor | None = None,
        tap: Tap | None = None,
    ) -> None:
        self.name = name
        self.identity = identity
        """The whole command, which identifies the agent in grants: any program can use another's name."""
        self.facts = facts
        self.quirks = quirks
        self.redactor = redactor or Redactor()
        """Removes secrets from everything that is shown or stored."""
        self.tap = tap
        self.loop = loop.LoopHandle()
        self.closed = False
        self.stray: deque[str] = deque(maxlen=STRAY_KEPT)
        self._background: set[asyncio.Task[Any]] = set()

    def background(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a task that continues even if nobody waits for it. `cancel_background` ends it."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)

        def done(_: object) -> None:
            self._background.discard(task)
            if not task.cancelled():
                task.exception()  # retrieve it, or asyncio reports it as unhandled

        task.add_done_callback(done)
        return task

    def cancel_background(self) -> None:
        for task in self._background:
            task.cancel()
