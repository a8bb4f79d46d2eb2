"""Create a notebook file from what an agent writes.

There is nothing to merge with or to lose, so valid outputs are accepted here, except placeholders that the
agent copied from another notebook.
"""

from __future__ import annotations

from ..records import Json
from .cell_ids import CellIds, is_id
from .elide import count_of, is_elided_output, is_placeholder
from .errors import Invalid
from .json_layout import STANDARD, dump
from .metadata import without_placeholders
from .parse import IDS_SINCE, Cell
from .validate import (
    check_metadata,
    check_plain,
    check_text,
    check_type,
    is_bundle,
    is_output,
    read_written,
)


def create_notebook(written: str | bytes) -> bytes:
    """The file of a new notebook, in nbformat 4.5 and in nbformat's own layout; raises `Invalid`."""
    wrote = read_written(written)
    metadata = without_placeholders(wrote.metadata)
    check_metadata(metadata, None)
    names = CellIds({cell.fields["id"] for cell in wrote.cells if is_id(cell.fields.get("id"))})
    cells = [_cell(cell, index, names) for index, cell in enumerate(wrote.cells)]
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": IDS_SINCE}
    try:
        return f"{dump(notebook, STANDARD)}\n".encode()
    except RecursionError:
        raise Invalid("this notebook cannot be written: an output is nested too deeply") from None


def _cell(cell: Cell, index: int, names: CellIds) -> dict[str, Json]:
    check_type(cell.type, index)
    check_text(cell.source, f"cells[{index}]", index)
    metadata = without_placeholders(cell.metadata)
    check_metadata(metadata, cell.type, index)
    made: dict[str, Json] = {
        "cell_type": cell.type,
        "id": cell.fields.get("id") or names.next(cell.type, cell.source),
        "metadata": metadata,
        "source": cell.source.splitlines(keepends=True),
    }
    if cell.type == "code":
        outputs = [it for it in cell.outputs if is_output(it) and not is_elided_output(it)]
        check_plain(outputs, f"cells[{index}]: its outputs", index)
        made |= {"execution_count": count_of(cell.fields.get("execution_count")), "outputs": outputs}
    else:
        pictures = {name: it for name, it in cell.attachments.items() if _is_picture(it)}
        check_plain(pictures, f"cells[{index}]: its attachments", index)
        made |= {"attachments": pictures} if pictures else {}
    return {key: made[key] for key in sorted(made)}


def _is_picture(bundle: Json) -> bool:
    return is_bundle(bundle) and not any(is_placeholder(it) for it in bundle.values())
