"""Write a notebook's text with some parts changed; everything else is copied character by character.

Uses the positions from `parse` and the format from `json_layout`; decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..records import Json
from .json_layout import JsonLayout, dump
from .parse import Cell, Notebook, Span, read

Fields = dict[str, Json]
"""Fields of a cell that get a new value."""

_Piece = str | Cell
"""A piece of the new text; a cell of the notebook stands for its present text."""

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
    style = notebook.style
    edits: dict[Span, list[_Piece]] = {}
    if not (same and not fields) or _lacks_ids(notebook):
        cells = [_cell(notebook, style, index, fields, new, ids[index]) for index in order]
        edits[notebook.spans["cells"]] = _list_of(cells, notebook, style)
    if metadata is not None:
        written = dump(dict(metadata), style, 1)
        if "metadata" in notebook.spans:
            edits[notebook.spans["metadata"]] = [written]
        else:
            at = notebook.text.index("{") + 1
            edits[at, at] = [f"{style.member('metadata', written)},"]
    text, copied = _joined(notebook, _spliced(notebook, edits))
    return read(text, copied=copied)


def _lacks_ids(notebook: Notebook) -> bool:
    return notebook.has_ids and not all(cell.own_id for cell in notebook.cells)


def _spliced(notebook: Notebook, edits: Mapping[Span, Sequence[_Piece]]) -> list[_Piece]:
    pieces: list[_Piece] = []
    at = 0
    for start, end in sorted(edits):
        pieces += [notebook.text[at:start], *edits[start, end]]
        at = end
    return [*pieces, notebook.text[at:]]


def _joined(notebook: Notebook, pieces: Sequence[_Piece]) -> tuple[str, dict[int, Cell]]:
    """The new text, and the cells that were copied, by position (not counting the byte order mark)."""
    texts = ["\ufeff"] if notebook.bom else []
    copied: dict[int, Cell] = {}
    at = 0
    for piece in pieces:
        text = piece if isinstance(piece, str) else notebook.text[piece.span[0] : piece.span[1]]
        if not isinstance(piece, str):
            copied[at] = piece
        texts.append(text)
        at += len(text)
    return "".join(texts), copied


def _list_of(cells: Sequence[_Piece], notebook: Notebook, style: JsonLayout) -> list[_Piece]:
    """The list of cells, with the same whitespace between them as before."""
    if not cells:
        return ["[]"]
    opening, between, closing = style.around("[]", _CELLS_DEPTH)
    if len(notebook.cells) > 1:
        start, end = notebook.spans["cells"]
        (first, first_end), (second, _) = notebook.cells[0].span, notebook.cells[1].span
        opening, between = notebook.text[start:first], notebook.text[first_end:second]
        closing = notebook.text[notebook.cells[-1].span[1] : end]
    pieces = [opening, cells[0]]
    for cell in cells[1:]:
        pieces += [between, cell]
    return [*pieces, closing]


def _cell(
    notebook: Notebook,
    style: JsonLayout,
    index: int,
    fields: Mapping[int, Fields],
    new: Mapping[int, Fields],
    id: str,
) -> _Piece:
    if index < 0:
        made = {**new[index], "source": _lines(new[index]["source"])}
        if notebook.has_ids:
            made["id"] = id
        return _object({key: dump(made[key], style, 3) for key in sorted(made)}, style)
    cell = notebook.cells[index]
    needs_id = notebook.has_ids and not cell.own_id
    changed = fields.get(index, {})
    if not changed and not needs_id:
        return cell
    return _changed_text(notebook, style, cell, {**changed, "id": id} if needs_id else changed)


def _changed_text(notebook: Notebook, style: JsonLayout, cell: Cell, changed: Fields) -> str:
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
