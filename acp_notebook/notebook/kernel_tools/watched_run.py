"""A run that others wait for and watch, whatever it runs and on which thread.

Implements the waiting half of `core.kernel_tools.interface.Run`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ...core.kernel_tools.interface import CHANGES_A_SECOND, OnChange, RunState

Post = Callable[[Callable[[], Any]], Any]
"""Calls a function on the loop thread; may be used from any thread."""


class WatchedRun(ABC):
    """Reports the states of a run: at a limited rate while it runs, and once at its end."""

    def __init__(self, id: str, post: Post, on_change: OnChange | None) -> None:
        self._id = id
        self._post = post
        self._on_change = on_change
        self._is_over = False
        self._over = asyncio.Event()
        """Set once everybody may know that the run is over: a page shows its outputs first."""
        self._is_flushing = False

    @property
    def id(self) -> str:
        return self._id

    @property
    def is_over(self) -> bool:
        return self._is_over

    @property
    @abstractmethod
    def state(self) -> RunState: ...

    async def wait(self, seconds: float) -> RunState:
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            pass
        return self.state

    def _touched(self) -> None:
        """Report the state soon, from any thread."""
        if not self._is_flushing:
            self._is_flushing = True
            self._post(self._flush_soon)

    def _flush_soon(self) -> None:
        asyncio.get_running_loop().call_later(1 / CHANGES_A_SECOND, self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        if not self._is_over:
            self._report(self.state)

    def _report(self, state: RunState) -> None:
        if self._on_change is not None:
            self._on_change(state)

    def _announce_end(self) -> None:
        self._over.set()
        self._report(self.state)
