"""Render a notebook for an agent: valid nbformat 4.5 in stable lines, with ids and without bulky data.

A view also remembers what was shown, as the base of a later merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ..records import Json
from .elide import count_of, has_floats, shown_attachments, shown_metadata, shown_outputs
from .errors import Invalid
from .json_layout import dump_sorted
from .parse import IDS_SINCE, TYPES, Cell, Data, Notebook, read

Content = tuple[str, str]
"""Type and source of a cell: what is compared to find out who changed it."""


class KnownCell(Struct, frozen=True, gc=False):
    """A cell as the agent knows it."""

    name: str
    """The agent's id for the cell."""
    id: str
    """The file's id for the cell; differs from `name` only if the file has no ids and the cell changed."""
    type: str
    source: str
    metadata: dict[str, Json]
    attachments: dict[str, Json]
    outputs: list[Json]

    @property
    def content(self) -> Content:
        return content(self.type, self.source)


class View(Struct, frozen=True):
    """What an agent read (or wrote): the text, and the parts that a merge needs."""

    text: str
    cells: tuple[KnownCell, ...]
    metadata: dict[str, Json]


def content(type: str, source: str) -> Content:
    """Type and source for a comparison. Ignores line ends: agents write "\\n" whatever they read."""
    return shown_type(type), source.replace("\r\n", "\n")


def content_of(cell: Cell) -> Content:
    return content(cell.type, cell.source)


def shown_type(type: str) -> str:
    """The type to show: "raw" for a type that nbformat does not define, which stays unchanged in the file."""
    return type if type in TYPES else "raw"


def as_agent_sees(data: Data | Notebook, *, outputs: Literal["elided", "raw"] = "elided") -> View:
    """Render the notebook for an agent; raises `Invalid`."""
    notebook = data if isinstance(data, Notebook) else read(data)
    try:
        return _view(notebook, raw=outputs == "raw")
    except RecursionError:
        raise Invalid("this notebook cannot be shown: an output is nested too deeply") from None


def _view(notebook: Notebook, *, raw: bool) -> View:
    cells = tuple(known_cell(cell, raw=raw) for cell in notebook.cells)
    metadata = shown_metadata(notebook.metadata, raw=raw)
    counts = [count_of(cell.fields.get("execution_count")) for cell in notebook.cells]
    book = _plain_notebook(cells, counts, metadata, notebook.minor)
    floats = raw or has_floats(metadata) or any(has_floats(cell.metadata) for cell in cells)
    return View(f"{dump_sorted(book, floats=floats)}\n", cells, metadata)


def known_cell(cell: Cell, *, raw: bool = False) -> KnownCell:
    return KnownCell(
        cell.id,
        cell.id,
        shown_type(cell.type),
        cell.source,
        shown_metadata(cell.metadata, raw=raw),
        shown_attachments(cell.attachments, raw=raw),
        shown_outputs(cell.outputs, raw=raw),
    )


def _plain_notebook(
    cells: Sequence[KnownCell], counts: Sequence[int | None], metadata: dict[str, Json], minor: int
) -> dict[str, Json]:
    """What the view's text contains: one line per line of source."""
    return {
        "cells": [_plain(cell, count) for cell, count in zip(cells, counts, strict=True)],
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": max(minor, IDS_SINCE),
    }


def _plain(cell: KnownCell, count: int | None) -> dict[str, Json]:
    plain: dict[str, Json] = {
        "cell_type": cell.type,
        "id": cell.name,
        "metadata": cell.metadata,
        "source": cell.source.splitlines(keepends=True),
    }
    if cell.type == "code":
        plain["execution_count"] = count
        plain["outputs"] = cell.outputs
    elif cell.attachments:
        plain["attachments"] = cell.attachments
    return plain
