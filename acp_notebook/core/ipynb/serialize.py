"""Write a notebook's text with some parts changed; everything else is copied character by character.

Uses the positions from `parse` and the format from `json_layout`; decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..records import Json
from .json_layout import JsonLayout, dump
from .parse import Cell, Notebook, read

Fields = dict[str, Json]
"""Fields of a cell that get a new value."""

_NOT_IN = {"code": ("attachments",), "markdown": ("outputs", "execution_count")}
_NOT_IN["raw"] = _NOT_IN["markdown"]
_CELLS_DEPTH = 1


def rewrite(
    notebook: Notebook,
    order: Sequence[int],
    fields: Mapping[int, Fields],
    new: Mapping[int, Fields],
    ids: Mapping[int, str],
    metadata: Mapping[str, Json] | None,
) -> Notebook:
    """The notebook with these cells in this order: its own (>= 0), with changed fields, and new ones (< 0).

    Returns the same notebook if nothing changes, even if it is not quite valid.
    """
    same = list(order) == list(range(len(notebook.cells)))
    if same and not fields and metadata is None:
        return notebook
    edits: list[tuple[int, int, str]] = []
    if not (same and not fields) or _lacks_ids(notebook):
        texts = [_cell_text(notebook, index, fields, new, ids[index]) for index in order]
        edits.append((*notebook.spans["cells"], _cells_text(notebook, texts)))
    if metadata is not None:
        written = dump(dict(metadata), notebook.style, 1)
        if "metadata" in notebook.spans:
            edits.append((*notebook.spans["metadata"], written))
        else:
            at = notebook.text.index("{") + 1
            edits.append((at, at, f"{notebook.style.member('metadata', written)},"))
    return read(_spliced(notebook, sorted(edits)))


def _lacks_ids(notebook: Notebook) -> bool:
    return notebook.has_ids and not all(cell.own_id for cell in notebook.cells)


def _spliced(notebook: Notebook, edits: Sequence[tuple[int, int, str]]) -> str:
    pieces = ["\ufeff" if notebook.bom else ""]
    at = 0
    for start, end, new in edits:
        pieces += [notebook.text[at:start], new]
        at = end
    return "".join([*pieces, notebook.text[at:]])


def _cells_text(notebook: Notebook, texts: Sequence[str]) -> str:
    """The list of cells, with the same whitespace between them as before."""
    cells, text = notebook.cells, notebook.text
    if len(cells) < 2 or not texts:
        return notebook.style.joined(texts, "[]", _CELLS_DEPTH)
    start, end = notebook.spans["cells"]
    opening = text[start : cells[0].span[0]]
    between = text[cells[0].span[1] : cells[1].span[0]]
    return f"{opening}{between.join(texts)}{text[cells[-1].span[1] : end]}"


def _cell_text(
    notebook: Notebook, index: int, fields: Mapping[int, Fields], new: Mapping[int, Fields], id: str
) -> str:
    style = notebook.style
    if index < 0:
        made = {**new[index], "source": _lines(new[index]["source"])}
        if notebook.has_ids:
            made["id"] = id
        return _object({key: dump(made[key], style, 3) for key in sorted(made)}, style)
    cell = notebook.cells[index]
    needs_id = notebook.has_ids and not cell.own_id
    changed = fields.get(index, {})
    if not changed and not needs_id:
        return notebook.text[cell.span[0] : cell.span[1]]
    return _changed_text(notebook, cell, {**changed, "id": id} if needs_id else changed)


def _changed_text(notebook: Notebook, cell: Cell, changed: Fields) -> str:
    style = notebook.style
    type = changed.get("cell_type")
    spans = notebook.spans_of(cell)
    values = {key: notebook.text[start:end] for key, (start, end) in spans.items()}
    for key, value in changed.items():
        as_lines = key == "source" and not isinstance(cell.fields["source"], str)
        values[key] = dump(_lines(value) if as_lines else value, style, 3)
    if type is not None:
        values = {key: it for key, it in values.items() if key not in _NOT_IN[type]}
    if type == "code":
        values |= {"execution_count": "null", "outputs": "[]"}
    if list(spans) == sorted(spans):
        values = {key: values[key] for key in sorted(values)}
    return _object(values, style)


def _object(values: Mapping[str, str], style: JsonLayout) -> str:
    return style.joined([style.member(key, it) for key, it in values.items()], "{}", 2)


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)
