"""Tracks which tool calls show a kernel run, and filters the agent's updates of them.

Pure, apart from an event to wait for.
"""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from ...core import events as ev
from ...core.records import KernelRun

TITLE = ("title", "kind")
RESULT = ("content", "raw_output")


class KernelCards:
    """Keeps an agent's updates from replacing the run that a card shows."""

    def __init__(self) -> None:
        self._ours: set[str] = set()
        """The ids of this turn's tool calls that show a run."""
        self._named: set[str] = set()
        """The ids of tool calls whose title we have replaced."""
        self.changed = asyncio.Event()

    def turn_started(self) -> None:
        self._ours.clear()
        self._named.clear()

    def take(self, id: str) -> None:
        self._ours.add(id)

    def name(self, id: str) -> None:
        self._named.add(id)

    def seen(self, event: ev.ToolChanged) -> ev.ToolChanged:
        """The event to show: an agent's update of a run keeps only its status.

        A question with the id of a run is about another call, and is shown as it is.
        """
        self.changed.set()
        if event.asked:
            self._ours.discard(event.id)
            self._named.discard(event.id)
        ours = event.id in self._ours and not _shows_run(event)
        parts = (*TITLE, *RESULT) if ours else TITLE if event.id in self._named else ()
        unset: dict[str, Any] = dict.fromkeys(parts, ev.UNSET)
        return replace(event, **unset) if unset else event


def _shows_run(event: ev.ToolChanged) -> bool:
    return isinstance(event.content, tuple) and any(isinstance(it, KernelRun) for it in event.content)
