"""Applies an agent's edits of cells to a notebook's text: all of them, or none with an error. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..ipynb import read
from .interface import UnknownCell
from .outline import Outline


class CellEdit(Protocol):
    """One edit; `agent.kernel_tools.catalog.Edit` documents its fields."""

    @property
    def op(self) -> str: ...
    @property
    def cell(self) -> str: ...
    @property
    def after(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def old(self) -> str: ...
    @property
    def new(self) -> str: ...
    @property
    def type(self) -> str: ...


def edited(text: str, edits: Sequence[CellEdit], new_id: Callable[[], str]) -> tuple[str, list[str]]:
    """Apply the edits; return the notebook's text and a line about each. Raises UnknownCell, ValueError."""
    notebook = json.loads(text)
    cells: list[dict[str, Any]] = notebook["cells"]
    names = [it.id for it in read(text).cells]
    report = []
    for number, edit in enumerate(edits, 1):
        try:
            report.append(_edit(_Cells(cells, names, Outline(read(json.dumps(notebook)))), edit, new_id))
        except (UnknownCell, ValueError) as error:
            raise ValueError(f"Nothing was changed. Edit {number} ({edit.op}): {error}") from None
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", report


class _Cells:
    """Keeps the cells of a notebook and their ids in step."""

    def __init__(self, cells: list[dict[str, Any]], names: list[str], outline: Outline) -> None:
        self.cells, self.names, self._outline = cells, names, outline

    def at(self, name: str) -> int:
        if not name.strip():
            raise ValueError("it needs a cell")
        if name in self.names:
            return self.names.index(name)
        return self._outline.cells.index(self._outline.find(name))

    def place(self, after: str) -> int:
        if after in ("", "bottom"):
            return len(self.cells)
        return 0 if after == "top" else self.at(after) + 1


def _edit(book: _Cells, edit: CellEdit, new_id: Callable[[], str]) -> str:
    if edit.op == "insert":
        at, id = book.place(edit.after), new_id()
        book.cells.insert(at, _new_cell(id, edit.type, edit.source))
        book.names.insert(at, id)
        return f"inserted {edit.type} cell {id}"
    at = book.at(edit.cell)
    cell, id = book.cells[at], book.names[at]
    if edit.op == "delete":
        del book.cells[at], book.names[at]
        return f"deleted {id}"
    if edit.op == "move":
        if edit.after not in ("", "top", "bottom") and book.at(edit.after) == at:
            raise ValueError("a cell cannot be moved behind itself")
        to = book.place(edit.after)
        to -= to > at
        book.cells.insert(to, book.cells.pop(at))
        book.names.insert(to, book.names.pop(at))
        return f"moved {id}"
    if edit.op == "replace":
        cell["source"] = edit.source
        return f"replaced the source of {id}"
    source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
    found = source.count(edit.old) if edit.old else 0
    if found != 1:
        raise ValueError(f"old is {found} times in {id}, and must be in it once: read the cell again")
    cell["source"] = source.replace(edit.old, edit.new)
    return f"changed {id}"


def _new_cell(id: str, type: str, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": type, "id": id, "metadata": {}, "source": source}
    return cell | ({"execution_count": None, "outputs": []} if type == "code" else {})
