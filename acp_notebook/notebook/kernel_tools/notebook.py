"""Reads the notebook that the kernel belongs to, from its page, else from its file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...core.document_protocol import Failed, Unreachable
from ...core.ipynb import Data, Invalid, read
from ...core.kernel_tools.interface import Display, NoNotebook, Output
from ...core.kernel_tools.outline import Outline, outputs_of
from .. import notebook_path
from ..open_documents import OpenDocuments
from .pictures import picture_of

MAX_BYTES = 512 * 2**20
"""The largest notebook file that is read."""

NO_NOTEBOOK = (
    "No page and no file shows which notebook this is{}: it works in JupyterLab 4 and Notebook 7. "
    "run_code and list_variables work here."
)


class Notebooks:
    """Reads the notebook for each request.

    Keeps no state, so that a request always sees the current notebook.
    """

    def __init__(
        self,
        documents: OpenDocuments | None,
        on_a_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
        *,
        started: Callable[[], list[str]] = notebook_path.started_paths,
    ) -> None:
        self.documents = documents
        self._on_a_thread = on_a_thread
        self._started = started

    async def page(self) -> Any | None:
        """The page that has the notebook open, if one answers."""
        return None if self.documents is None else await self.documents.newest()

    async def outline(self) -> Outline:
        """The outline of the notebook; raises NoNotebook."""
        data, why = await self._data()
        if data is None:
            raise NoNotebook(NO_NOTEBOOK.format(why))
        try:
            found: Outline = await self._on_a_thread(lambda: Outline(read(data)))
        except Invalid as error:
            raise NoNotebook(f"The notebook cannot be read: {error}.") from None
        return found

    async def outputs(self, cell: str) -> tuple[Output, ...]:
        """The outputs of a cell; raises NoNotebook, UnknownCell."""
        found = (await self.outline()).find(cell)
        made: tuple[Output, ...] = await self._on_a_thread(lambda: tuple(map(_scaled, outputs_of(found))))
        return made

    async def _data(self) -> tuple[Data | None, str]:
        page = await self.page()
        why = ""
        if page is not None and self.documents is not None:
            try:
                return (await self.documents.describe(page)).notebook, ""
            except (Unreachable, Failed) as error:
                why = f" ({error})"
        return await self._on_a_thread(self._file), why

    def _file(self) -> bytes | None:
        for name in self._started():
            path = Path(name)
            try:
                if path.suffix == ".ipynb" and path.stat().st_size <= MAX_BYTES:
                    return path.read_bytes()
            except OSError:
                continue
        return None


def _scaled(output: Output) -> Output:
    if not isinstance(output, Display) or output.image is None:
        return output
    return replace(output, image=picture_of(output.data))
