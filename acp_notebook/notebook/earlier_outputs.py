"""What a cell showed before its current run: as the page remembers it, else as the notebook's file has it.

A page remembers the sessions of earlier kernels until it is reloaded; it has cleared the cell's output itself
by the time the cell runs. The file is the one that the page is proved to have open. Runs on the loop thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ..core.document_protocol import Failed, Stale, Unreachable
from ..core.snapshot import Snapshot
from ..log import logger, suppressed
from .open_documents import OpenDocuments
from .saved_conversations import Data, Output, newest_conversation, outputs_in

_log = logger(__name__)

OnThread = Callable[[Callable[[], Any]], Awaitable[Any]]


class EarlierOutputs:
    """Finds what cells showed before."""

    def __init__(self, documents: OpenDocuments, on_a_thread: OnThread) -> None:
        self._documents = documents
        self._on_a_thread = on_a_thread

    async def conversation(self, cell: str) -> Snapshot | None:
        """The newest conversation that the cell showed."""
        remembered = await self._remembered(cell)
        found: Snapshot | None = await self._on_a_thread(lambda: newest_conversation(remembered, cell))
        if found is None:
            saved = await self._saved()
            found = await self._on_a_thread(lambda: newest_conversation(saved, cell))
        return found

    async def outputs(self, cell: str) -> list[Data]:
        """The outputs with a transcript that the cell had, the newest last."""
        return [data for id, data in (*await self._saved(), *await self._remembered(cell)) if id == cell]

    async def _remembered(self, cell: str) -> list[Output]:
        with suppressed(_log, Unreachable, Stale, Failed):
            if (page := await self._documents.newest()) is not None:
                return [(cell, data) for data in await self._documents.remembered_outputs(page, cell)]
        return []

    async def _saved(self) -> list[Output]:
        with suppressed(_log, Unreachable, Stale, Failed):
            page = await self._documents.newest()
            path = None if page is None else await self._documents.file_of(page)
            if path is not None:
                found: list[Output] = await self._on_a_thread(lambda: outputs_in(path))
                return found
        return []
