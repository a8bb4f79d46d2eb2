"""session.notebook: the notebook that is open in the page, for use in scripts.

Forwards calls to `notebook.open_documents` on the loop thread. Has no state, so that every access shows the
current state of the page. Each change can be undone in the page in one step.
"""

from __future__ import annotations

import html
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from ..agent.loop import LoopHandle
from ..core.document_protocol import Described, Failed, Stale, Unreachable
from ..core.ipynb import Delete, Insert, Invalid, Move, Operation, Replace, read, source_hash
from ..core.ipynb.errors import first_line
from ..core.records import Json
from ..errors import Error, Timeout, UsageError
from ..log import logger
from ..notebook.open_documents import OpenDocuments

_log = logger(__name__)

T = TypeVar("T")

TYPES = ("code", "markdown", "raw")


class Cell(Struct, frozen=True):
    """A cell as it is in the page, unsaved text included."""

    id: str
    type: str
    source: str
    execution_count: int | None
    outputs: tuple[dict[str, Json], ...]
    attachments: dict[str, Json]

    def __repr__(self) -> str:
        count = "" if self.execution_count is None else f" [{self.execution_count}]"
        outputs = f" · {len(self.outputs)} output{'s' * (len(self.outputs) != 1)}" if self.outputs else ""
        return f"<Cell {self.id} · {self.type}{count} · {first_line(self.source)!r}{outputs}>"


class LiveNotebook:
    """The open notebook. Every call asks the page, and raises `acp.Error` if there is none."""

    def __init__(self, loop: LoopHandle, documents: OpenDocuments) -> None:
        self._loop = loop
        self._documents = documents

    # ---- reading --------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The path of the notebook on the Jupyter server."""
        return self._described().path

    @property
    def dirty(self) -> bool:
        """Whether the page has unsaved changes."""
        return self._described().dirty

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of the notebook, in order."""
        return _cells(self._described())

    def source_of(self, which: str) -> str | None:
        """The text of the cell numbered [which], or with "last", of the cell that ran last."""
        ran = [it for it in self.cells if it.execution_count is not None]
        if which == "last":
            return max(ran, key=lambda it: it.execution_count or 0).source if ran else None
        return next((it.source for it in ran if str(it.execution_count) == which), None)

    # ---- changing -------------------------------------------------------------------------------

    def insert(self, source: str, *, after: str | Cell | None = None, type: str = "code") -> str:
        """Insert a new cell after the given one (by default at the end) and return its id."""
        if type not in TYPES:
            raise UsageError(f"the type of a cell is one of {', '.join(TYPES)}, not {type!r}")
        id = uuid.uuid4().hex[:12]

        def build(cells: Sequence[Cell]) -> Operation:
            place = cells[-1].id if after is None and cells else None
            return Insert(id, place if after is None else _find(cells, after).id, type, source, {}, {})

        self._change(build)
        return id

    def replace(self, cell: str | Cell, source: str, *, keep_outputs: bool = False) -> None:
        """Replace the text of the cell. Its outputs are removed unless `keep_outputs`."""

        def build(cells: Sequence[Cell]) -> Operation:
            old = _find(cells, cell)
            return Replace(
                old.id, source_hash(old.source), old.type, source, not keep_outputs, old.attachments
            )

        self._change(build)

    def delete(self, cell: str | Cell) -> None:
        """Delete the cell."""

        def build(cells: Sequence[Cell]) -> Operation:
            old = _find(cells, cell)
            return Delete(old.id, source_hash(old.source))

        self._change(build)

    def move(self, cell: str | Cell, *, after: str | Cell | None) -> None:
        """Move the cell after the given one; None moves it to the top."""

        def build(cells: Sequence[Cell]) -> Operation:
            old = _find(cells, cell)
            place = None if after is None else _find(cells, after).id
            if place == old.id:
                raise UsageError("a cell cannot be moved after itself")
            return Move(old.id, place, source_hash(old.source))

        self._change(build)

    def save(self) -> None:
        """Save the notebook."""
        self._call(self._documents.save)

    # ---- the loop thread ------------------------------------------------------------------------

    def _described(self) -> Described:
        return self._call(self._documents.describe)

    def _change(self, build: Callable[[Sequence[Cell]], Operation]) -> None:
        async def change(page: Any) -> None:
            operation = build(_cells(await self._documents.describe(page)))
            await self._documents.change(page, [operation])

        self._call(change)

    def _call(self, work: Callable[[Any], Awaitable[T]]) -> T:
        async def call() -> T:
            page = await self._documents.newest()
            if page is None:
                raise UsageError(
                    "the open notebook cannot be accessed from Python: this needs JupyterLab 4 or Notebook 7"
                )
            try:
                return await work(page)
            except Stale as error:
                raise Error(f"nothing was changed: {error}") from None
            except Failed as error:
                raise Error(f"the page reported an error: {error}") from None
            except Unreachable as error:
                raise Timeout(f"the notebook cannot be reached: {error}") from None

        return self._loop.call(call())

    # ---- display --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        try:
            described = self._described()
        except Error as error:
            return f"<LiveNotebook · {error}>"
        count = len(described.notebook.get("cells", ()))
        dirty = " · unsaved" if described.dirty else ""
        return f"<LiveNotebook {described.path} · {count} cell{'s' * (count != 1)}{dirty}>"

    def _repr_html_(self) -> str:
        try:
            described = self._described()
        except Error:
            _log.debug("the open notebook cannot be shown", exc_info=True)
            return f"<p>{html.escape(repr(self))}</p>"
        rows = "".join(
            f"<tr><td><code>{html.escape(it.id)}</code></td><td>{html.escape(it.type)}</td>"
            f"<td>{'' if it.execution_count is None else it.execution_count}</td>"
            f"<td><code>{html.escape(first_line(it.source))}</code></td><td>{len(it.outputs)}</td></tr>"
            for it in _cells(described)
        )
        head = "<tr><th>id</th><th>type</th><th>run</th><th>first line</th><th>outputs</th></tr>"
        return (
            f"<p>{html.escape(described.path)}</p><table><thead>{head}</thead><tbody>{rows}</tbody></table>"
        )


def _cells(described: Described) -> tuple[Cell, ...]:
    try:
        cells = read(described.notebook).cells
    except Invalid as error:
        raise Failed(f"the document is not a notebook ({error})") from None
    return tuple(
        Cell(
            it.raw_id,
            it.type,
            it.source,
            _count(it.fields.get("execution_count")),
            tuple(it.outputs),
            it.attachments,
        )
        for it in cells
    )


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) else None


def _find(cells: Sequence[Cell], wanted: str | Cell) -> Cell:
    id = wanted if isinstance(wanted, str) else wanted.id
    found = next((it for it in cells if it.id == id), None)
    if found is None:
        raise UsageError(f"the notebook has no cell {id!r}")
    if isinstance(wanted, Cell) and wanted.source != found.source:
        raise UsageError(f"the cell {id!r} has changed since you read it")
    return found
