"""Edits the kernel's notebook for an agent, as a normal write to a notebook.

So the question shows a diff, an open page makes the change, and the user can undo it. Runs on the loop
thread.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from ...core.actions import Action, McpCall
from ...core.kernel_tools.calls import SERVER
from ...core.kernel_tools.edits import edited
from ...core.kernel_tools.interface import NoNotebook
from ...core.requests import WriteTextFileRequest
from ...core.snapshot import ToolCall
from ...wire.mcp import ToolRequest
from ..threads import on_a_thread
from .catalog import Edit

MOST_BYTES = 64 * 1024 * 1024
"""Size limit of a notebook without its bulky outputs."""

NO_NOTEBOOK = "No page and no file shows which notebook this is: it works in JupyterLab 4 and Notebook 7."


class Writes(Protocol):
    """The part of `ClientServices` that the editor uses."""

    async def write(
        self, asked: WriteTextFileRequest, *, own: ToolCall | None = None, context: tuple[Action, ...] = ()
    ) -> None: ...


class ReadsNotebooks(Protocol):
    """The part of `NotebookFiles` that the editor uses."""

    async def text_to_embed(self, path: str, most: int, *, seen: bool) -> str | None: ...


class NotebookEditor:
    """Applies the edits of an agent to the kernel's notebook."""

    def __init__(
        self,
        services: Writes,
        notebooks: ReadsNotebooks,
        paths: Callable[[], Awaitable[Sequence[str]]],
        own_edit: Callable[[ToolRequest], Awaitable[ToolCall | None]],
    ) -> None:
        """`paths` returns the files that may be the kernel's notebook, likely ones first; `own_edit` finds
        the agent's tool call."""
        self._services = services
        self._notebooks = notebooks
        self._paths = paths
        self._own_edit = own_edit
        self._one_at_a_time = asyncio.Lock()

    async def edit(self, request: ToolRequest, edits: Sequence[Edit]) -> str:
        own = await self._own_edit(request)
        context = (McpCall(SERVER, request.name, sure=True),)
        async with self._one_at_a_time:
            path, text = await self._text()
            new_text, report = await on_a_thread(lambda: edited(text, edits, lambda: uuid.uuid4().hex[:8]))
            await self._services.write(WriteTextFileRequest("", path, new_text), own=own, context=context)
        return "\n".join(("done", *report))

    async def _text(self) -> tuple[str, str]:
        """The path and the current text of the notebook, which the edits apply to."""
        for path in await self._paths():
            text = await self._notebooks.text_to_embed(path, MOST_BYTES, seen=True)
            if text is not None:
                return path, text
        raise NoNotebook(NO_NOTEBOOK)
