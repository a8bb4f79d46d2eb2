"""Shows the outputs of cells that we run in the page that has the notebook open, while they run."""

from __future__ import annotations

import asyncio
from typing import Any

from ...core.document_protocol import Failed, ShowOutputs, Stale, Unreachable
from ...core.ipynb import source_hash
from ...core.kernel_tools.interface import CellRun, RunState
from ...core.kernel_tools.outline import to_nbformat
from ..open_documents import OpenDocuments

EVERY_S = 0.5
"""The interval between updates; each sends all outputs of its cell."""

NOT_SHOWN = "The page does not show the outputs of cell {}: {}."


class PageOutputs:
    """Sends changed outputs to the page. Lives on the loop thread."""

    def __init__(self, documents: OpenDocuments, page: Any) -> None:
        self._documents = documents
        self._page = page
        self._shown: dict[str, CellRun] = {}
        self._state: RunState | None = None
        self._is_waiting = False

    def changed(self, state: RunState) -> None:
        self._state = state
        if not self._is_waiting:
            self._is_waiting = True
            asyncio.get_running_loop().call_later(EVERY_S, self._send)

    def _send(self) -> None:
        self._is_waiting = False
        if self._state is None or self._state.is_over:
            return
        for cell in self._changed(self._state):
            self._documents.show_outputs(self._page, _shown(cell))
            self._shown[cell.id] = cell

    async def finish(self, state: RunState) -> list[str]:
        """Show the final outputs of every cell that ran; returns what could not be shown."""
        self._state = None
        notes = []
        for cell in state.cells:
            if cell.status == "skipped":
                continue
            try:
                await self._documents.set_outputs(self._page, _shown(cell))
            except (Stale, Failed, Unreachable) as error:
                notes.append(NOT_SHOWN.format(cell.id, error))
        return notes

    def _changed(self, state: RunState) -> list[CellRun]:
        begun = [it for it in state.cells if it.status not in ("waiting", "skipped")]
        return [it for it in begun if it != self._shown.get(it.id)]


def _shown(cell: CellRun) -> ShowOutputs:
    running = cell.status == "running"
    return ShowOutputs(
        cell.id,
        source_hash(cell.source),
        to_nbformat(cell.outputs, cell.execution_count),
        None if running else cell.execution_count,
        running,
    )
