"""session.notebook: the notebook that is open in the page, as the user scripts it.

Joins the user's thread with the documents on the loop thread (`notebook.open_documents`); keeps nothing, so
that every look shows what is in the page at that moment. Changes can be undone in the page, each in one step.
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
from ..notebook.open_documents import OpenDocuments

T = TypeVar("T")

TYPES = ("code", "markdown", "raw")


class Cell(Struct, frozen=True):
    """A cell as it is in the page; what is not saved is in it."""

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
    """The open notebook. Every call asks the page; it raises `acp.Error` where there is none."""

    def __init__(self, home: LoopHandle, documents: OpenDocuments) -> None:
        self._loop = home
        self._documents = documents

    # ---- reading --------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """As the server's contents call it."""
        return self._described().path

    @property
    def dirty(self) -> bool:
        """Whether the page has something that is not saved."""
        return self._described().dirty

    @property
    def cells(self) -> tuple[Cell, ...]:
        return _cells(self._described())

    def source_of(self, which: str) -> str | None:
        """The text of the cell that ran as [which], or with "last", of the one that ran last."""
        ran = [it for it in self.cells if it.execution_count is not None]
        if which == "last":
            return max(ran, key=lambda it: it.execution_count or 0).source if ran else None
        return next((it.source for it in ran if str(it.execution_count) == which), None)

    # ---- changing -------------------------------------------------------------------------------

    def insert(self, source: str, *, after: str | Cell | None = None, type: str = "code") -> str:
        """Put a new cell after that one (by default at the end) and return its id."""
        if type not in TYPES:
            raise UsageError(f"a cell can be {', '.join(TYPES)}, not {type!r}")
        id = uuid.uuid4().hex[:12]

        def made(cells: Sequence[Cell]) -> Operation:
            place = cells[-1].id if after is None and cells else None
            return Insert(id, place if after is None else _find(cells, after).id, type, source, {}, {})

        self._change(made)
        return id

    def replace(self, cell: str | Cell, source: str, *, keep_outputs: bool = False) -> None:
        """Give the cell another text; its outputs go, unless `keep_outputs`."""

        def made(cells: Sequence[Cell]) -> Operation:
            old = _find(cells, cell)
            return Replace(
                old.id, source_hash(old.source), old.type, source, not keep_outputs, old.attachments
            )

        self._change(made)

    def delete(self, cell: str | Cell) -> None:
        def made(cells: Sequence[Cell]) -> Operation:
            old = _find(cells, cell)
            return Delete(old.id, source_hash(old.source))

        self._change(made)

    def move(self, cell: str | Cell, *, after: str | Cell | None) -> None:
        """Put the cell after that one; None: at the top."""

        def made(cells: Sequence[Cell]) -> Operation:
            old = _find(cells, cell)
            place = None if after is None else _find(cells, after).id
            if place == old.id:
                raise UsageError("a cell cannot be moved behind itself")
            return Move(old.id, place, source_hash(old.source))

        self._change(made)

    def save(self) -> None:
        """Have the page save it."""
        self._call(self._documents.save)

    # ---- the loop thread ------------------------------------------------------------------------

    def _described(self) -> Described:
        return self._call(self._documents.describe)

    def _change(self, made: Callable[[Sequence[Cell]], Operation]) -> None:
        async def change(page: Any) -> None:
            operation = made(_cells(await self._documents.describe(page)))
            await self._documents.change(page, [operation])

        self._call(change)

    def _call(self, work: Callable[[Any], Awaitable[T]]) -> T:
        async def called() -> T:
            page = await self._documents.newest()
            if page is None:
                raise UsageError(
                    "no page lets us reach its notebook: that works in JupyterLab 4 and Notebook 7, "
                    "without collaboration"
                )
            try:
                return await work(page)
            except Stale as error:
                raise Error(f"nothing was changed: {error}") from None
            except Failed as error:
                raise Error(f"the page could not do it: {error}") from None
            except Unreachable as error:
                raise Timeout(f"the notebook cannot be reached: {error}") from None

        return self._loop.call(called())

    # ---- looks ----------------------------------------------------------------------------------

    def __repr__(self) -> str:
        try:
            described = self._described()
        except Error as error:
            return f"<LiveNotebook · {error}>"
        count = len(described.notebook.get("cells", ()))
        dirty = " · not saved" if described.dirty else ""
        return f"<LiveNotebook {described.path} · {count} cell{'s' * (count != 1)}{dirty}>"

    def _repr_html_(self) -> str:
        try:
            described = self._described()
        except Error:
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
        raise Failed(f"the document is no notebook ({error})") from None
    return tuple(
        Cell(
            it.told_id,
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
        raise UsageError(f"the cell {id!r} was changed since you looked at it")
    return found
