"""Check that what an agent writes is a valid notebook, before anything else is done with it.

Implements the rules of nbformat 4.5 for what an agent may set (ids, types, metadata, attachments, outputs of
a new notebook). We do not use nbformat itself, because it and its schema library are slow to load; the tests
compare these checks with nbformat's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from ..patterns import pattern
from ..records import Json
from .cell_ids import is_id
from .elide import nested_beyond
from .errors import Invalid
from .parse import TYPES, Notebook, joined, read

MOST_NESTED = 100
"""The limit for metadata from an agent: beyond any real use, and well within what JSON readers accept."""

_KINDS = (("metadata", dict), ("attachments", dict), ("outputs", list))
_LONE_SURROGATE = pattern("[\ud800-\udfff]")
_JSON_MIME = pattern(r"application/(.*\+)?json")


def read_written(text: str | bytes) -> Notebook:
    """Parse what the agent writes; raises `Invalid` with the position of the error."""
    notebook = read(text)
    if not isinstance(notebook.fields.get("metadata", {}), dict):
        raise Invalid("not a notebook: its metadata is not a JSON object")
    known: dict[str, int] = {}
    for index, cell in enumerate(notebook.cells):
        fields = cell.fields
        for name, kind in _KINDS:
            if name in fields and not isinstance(fields[name], kind):
                word = "object" if kind is dict else "list"
                raise Invalid(f"cells[{index}]: its {name} is not a JSON {word}", cell=index)
        id = fields.get("id")
        if id is None:
            continue
        if not is_id(id):
            raise Invalid(
                f"cells[{index}]: its id {_short(id)} is not valid; use 1 to 64 letters, digits, - and _, "
                "or leave the id out to get a new one",
                cell=index,
            )
        if id in known:
            raise Invalid(
                f"cells[{known[id]}] and cells[{index}] have the same id {id!r}: "
                "leave it out of the new cell",
                cell=index,
            )
        known[id] = index
    return notebook


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def check_type(type: str, index: int) -> None:
    if type not in TYPES:
        known = ", ".join(TYPES)
        raise Invalid(f"cells[{index}]: its cell_type {_short(type)} is not one of {known}", cell=index)


def check_text(text: str, what: str, index: int | None = None) -> None:
    if _LONE_SURROGATE.search(text):
        raise Invalid(f"{what}: a lone surrogate is not valid text", cell=index)


# ---- metadata


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and re.search("^.+$", value) is not None


def _is_tags(value: Json) -> bool:
    if not isinstance(value, list) or not all(isinstance(it, str) for it in value):
        return False
    return len(set(value)) == len(value) and all(re.search("^[^,]+$", it) for it in value)


def _is_texts(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(it, str) for it in value.values())


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_bool(value: Json) -> bool:
    return isinstance(value, bool)


def _is_scrolled(value: Json) -> bool:
    return isinstance(value, bool) or value == "auto"


def _is_kernel(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(it), str) for it in ("name", "display_name"))


def _is_language(value: Json) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return False
    texts = ("file_extension", "mimetype", "pygments_lexer")
    mode = value.get("codemirror_mode", "")
    return isinstance(mode, str | dict) and all(isinstance(value.get(it, ""), str) for it in texts)


def _is_major(value: Json) -> bool:
    return type(value) is int and value >= 1


_Rules = Mapping[str, Callable[[Json], bool]]

_EVERY_CELL: _Rules = {"name": _is_name, "tags": _is_tags, "jupyter": _is_object}
_OF_CELLS: Mapping[str, _Rules] = {
    "raw": {**_EVERY_CELL, "format": _is_text},
    "markdown": _EVERY_CELL,
    "code": {**_EVERY_CELL, "execution": _is_texts, "collapsed": _is_bool, "scrolled": _is_scrolled},
}
_OF_NOTEBOOKS: _Rules = {
    "kernelspec": _is_kernel,
    "language_info": _is_language,
    "orig_nbformat": _is_major,
    "title": _is_text,
    "authors": lambda value: isinstance(value, list),
}


def check_metadata(metadata: Mapping[str, Json], type: str | None, index: int | None = None) -> None:
    """Check the metadata of a cell of that type, or of the notebook (None); raises `Invalid`."""
    where = "the notebook's metadata" if index is None else f"cells[{index}]: its metadata"
    check_plain(metadata, where, index)
    rules = _OF_NOTEBOOKS if type is None else _OF_CELLS.get(type, {})
    for name, fits in rules.items():
        if name in metadata and not fits(metadata[name]):
            raise Invalid(
                f"{where} has {name!r} as {_short(metadata[name])}, which nbformat does not allow", cell=index
            )


def check_plain(value: Json, where: str, index: int | None) -> None:
    """Check that any JSON reader accepts the value: valid text, finite numbers, not too deeply nested."""
    if nested_beyond(value, MOST_NESTED):
        raise Invalid(f"{where} is nested too deeply", cell=index)
    _check_leaves(value, where, index)


def _check_leaves(value: Json, where: str, index: int | None) -> None:
    if isinstance(value, str):
        check_text(value, where, index)
    elif isinstance(value, float) and not math.isfinite(value):
        raise Invalid(f"{where} has a number that is not finite", cell=index)
    elif isinstance(value, dict):
        for name, it in value.items():
            check_text(name, where, index)
            _check_leaves(it, where, index)
    elif isinstance(value, list):
        for it in value:
            _check_leaves(it, where, index)


# ---- attachments and outputs


def is_bundle(value: Json) -> bool:
    """Whether it is a mimebundle as nbformat defines it."""
    return isinstance(value, dict) and all(
        _JSON_MIME.fullmatch(mime) is not None or joined(it) is not None for mime, it in value.items()
    )


def is_output(value: Json) -> bool:
    """Whether it is an output exactly as nbformat 4.5 defines it."""
    match value:
        case {"output_type": "stream", "name": str(), "text": text, **rest}:
            return joined(text) is not None and not rest
        case {"output_type": "error", "ename": str(), "evalue": str(), "traceback": list(lines), **rest}:
            return all(isinstance(line, str) for line in lines) and not rest
        case {"output_type": "display_data", "data": data, "metadata": dict(), **rest}:
            return is_bundle(data) and not rest
        case {
            "output_type": "execute_result",
            "data": data,
            "metadata": dict(),
            "execution_count": n,
            **rest,
        }:
            return is_bundle(data) and (n is None or (type(n) is int and n >= 0)) and not rest
    return False
