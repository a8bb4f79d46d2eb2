"""Formats values as text without running the user's code: `repr` and `str` only of known C types.

Knows no library beyond the exact types listed here; names anything else by its type.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import pathlib
import re
import uuid
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ...core.redaction import REDACTED
from ...core.variables import holds_secret, names_secret_variable
from .type_checks import (
    EXACT_DICTS,
    derives_from,
    instance_attributes,
    is_dataclass,
    is_exactly,
    is_library_class,
    is_library_zone,
    is_table,
    length_of,
    loaded,
    one_of,
    type_name,
)

STRING_CHARS = 500
"""Characters of a text inside another value."""

ITEMS = 30
"""Items per container."""

ALL_ITEMS = 300
"""Items of all containers in one value."""

CELL_CHARS = 60

LONGEST_KEY = 500
"""Characters of a value that may be a key; longer ones (private keys) are recognised by their name."""

BIG_INT_BITS = 3_000
"""Python refuses to format an int with more than 4,300 digits."""

_WRITTEN_AS_STR: tuple[type, ...] = (
    bool,
    float,
    complex,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    range,
    decimal.Decimal,
    fractions.Fraction,
    datetime.datetime,
    datetime.date,
    datetime.timedelta,
    pathlib.PosixPath,
    pathlib.PurePosixPath,
    re.Pattern,
    uuid.UUID,
)
"""Exactly these types, whose `str` runs only standard library code."""

CONTAINERS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    deque: ("deque([", "])"),
}


def is_secret(name: str, text: str) -> bool:
    """Whether a text must not be shown: by its name, or because it looks like a key.

    Long texts with spaces are documents; the session's redactor removes secrets from those.
    """
    if names_secret_variable(name):
        return True
    return len(text) <= LONGEST_KEY and not any(map(str.isspace, text)) and holds_secret(name, text)


def is_container(value: Any) -> bool:
    """Whether it is exactly a builtin container: a subclass may override how it is read."""
    return one_of(type(value), CONTAINERS) or one_of(type(value), EXACT_DICTS)


def is_plain(value: Any) -> bool:
    """Whether `scalar` can format it."""
    kind = type(value)
    return one_of(kind, (int, str, bytes, bytearray, *_WRITTEN_AS_STR)) or _is_library_scalar(value)


def _is_library_scalar(value: Any) -> bool:
    if is_library_class(type(value), "numpy"):  # a record may have objects in it, with a `repr` of their own
        return derives_from(value, "numpy", "generic") and not value.dtype.hasobject
    return is_exactly(value, "pandas", "Timestamp", "Timedelta", "Period", "Interval") or (
        value is not None and (value is loaded("pandas", "NaT") or value is loaded("pandas", "NA"))
    )


def scalar(value: Any, chars: int = STRING_CHARS, *, name: str = "") -> str:
    """Format a value that is not a container; `name` is the name that it is stored under."""
    kind = type(value)
    if kind is str:
        if is_secret(name, value):
            return REDACTED
        shown = repr(value[:chars])
        return shown if len(value) <= chars else f"{shown}… ({len(value):,} characters)"
    if kind is bytes or kind is bytearray:
        if is_secret(name, bytes(value[: LONGEST_KEY + 1]).decode("latin-1")):
            return REDACTED
        shown = repr(bytes(value[:chars]))
        return shown if len(value) <= chars else f"{shown}… ({len(value):,} bytes)"
    if kind is int:
        return str(value) if value.bit_length() <= BIG_INT_BITS else f"<int of {value.bit_length():,} bits>"
    if is_plain(value):
        return _cut(_written(value), chars)
    return opaque(value)


def _written(value: Any) -> str:
    """Format it like `str`; a time whose zone the user defined, without calling the zone."""
    is_stamp = is_exactly(value, "pandas", "Timestamp")
    zone = value.tzinfo if is_stamp or type(value) is datetime.datetime else None
    if zone is None or is_library_zone(zone):
        return str(value)
    bare = f"{value.to_datetime64()} UTC" if is_stamp else str(value.replace(tzinfo=None))
    return f"{bare} <{type_name(type(zone))}>"


def opaque(value: Any) -> str:
    """Describe an object without reading its contents."""
    length = length_of(value)
    shape = _shape(value)
    size = f" of shape {shape}" if shape else "" if length is None else f" of {length:,} items"
    return f"<{type_name(type(value))}{size}>"


def _shape(value: Any) -> str:
    if is_exactly(value, "numpy", "ndarray") or is_table(value) or is_exactly(value, "pandas", "RangeIndex"):
        return shape_text(value.shape)
    return ""


def shape_text(shape: Any) -> str:
    return " x ".join(f"{int(it):,}" for it in shape) or "()"


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


def cell(value: Any, *, name: str = "") -> str:
    """Format a value on one line, for a cell of a table."""
    if type(value) is str:
        text = REDACTED if is_secret(name, value) else value[: CELL_CHARS * 2]
    elif type(value) is float:
        text = f"{value:.10g}"
    elif is_container(value):
        text = nested(value, depth=1, items=5)
    else:
        text = scalar(value, CELL_CHARS, name=name)
    return _cut(" ".join(text.split()), CELL_CHARS)


def nested(value: Any, *, depth: int, items: int = ITEMS, name: str = "", as_dict: bool = False) -> str:
    """Format a container with its contents, up to `depth` levels.

    `as_dict`: read a subclass of dict with the methods of dict; a copy would call its own `keys`.
    """
    writer = _Writer(items)
    return writer.dict_written(value, depth, name) if as_dict else writer.written(value, depth, name, ())


class _Writer:
    """Formats one nested value and counts the items that may still be written."""

    def __init__(self, items: int) -> None:
        self._items = items
        self._left = ALL_ITEMS

    def written(self, value: Any, depth: int, name: str, within: tuple[int, ...]) -> str:
        kind = type(value)
        record = is_dataclass(value) and not issubclass(kind, type)
        if not record and not is_container(value):
            return scalar(value, name=name)
        if id(value) in within:
            return "…"
        if depth <= 0:
            return opaque(value)
        opening, closing = _brackets(value, record)
        parts = [*self._parts(value, record, depth - 1, name, (*within, id(value)))]
        return _joined(opening, closing, parts)

    def dict_written(self, value: Any, depth: int, name: str) -> str:
        return _joined("{", "}", [*self._listed(*_dict_entries(value, name), depth - 1, (id(value),))])

    def _parts(
        self, value: Any, record: bool, depth: int, name: str, within: tuple[int, ...]
    ) -> Iterator[str]:
        yield from self._listed(*_entries(value, record, name), depth, within)

    def _listed(
        self, entries: Iterator[Entry], total: int, depth: int, within: tuple[int, ...]
    ) -> Iterator[str]:
        for at, (prefix, name, item) in enumerate(entries):
            if at >= self._items or self._left <= 0:
                yield f"… {total - at:,} more"
                return
            self._left -= 1
            yield prefix + self.written(item, depth, name, within)


def _joined(opening: str, closing: str, parts: list[str]) -> str:
    line = f"{opening}{', '.join(parts)}{closing}"
    if len(line) <= 100 and "\n" not in line:
        return line
    return f"{opening}\n" + "".join(f"{_indent(it)},\n" for it in parts) + closing


def _indent(text: str) -> str:
    return "    " + text.replace("\n", "\n    ")


def _brackets(value: Any, record: bool) -> tuple[str, str]:
    if record:
        return f"{type_name(type(value))}(", ")"
    if one_of(type(value), CONTAINERS):
        return CONTAINERS[type(value)]
    return ("{", "}") if type(value) is dict else (f"{type_name(type(value))}({{", "})")


Entry = tuple[str, str, Any]
"""An item to format: prefix, name, value."""


def _entries(value: Any, record: bool, own: str) -> tuple[Iterator[Entry], int]:
    """Copy the first items: other threads may change the container.

    `own`: the name of the container, used for items without a name of their own.
    """
    if record:
        stored = list(islice(instance_attributes(value), ALL_ITEMS + 1))
        return ((f"{name}=", name, item) for name, item in stored), len(stored)
    if one_of(type(value), EXACT_DICTS):
        return _dict_entries(value, own)
    return (("", own, it) for it in _first(lambda: value)), len(value)


def _dict_entries(value: Any, own: str) -> tuple[Iterator[Entry], int]:
    pairs = _first(lambda: dict.items(value))
    entries = ((f"{scalar(key, 100)}: ", key if type(key) is str else own, item) for key, item in pairs)
    return entries, dict.__len__(value)


def _first(make: Any) -> list[Any]:
    for _ in range(5):
        try:
            return list(islice(make(), ALL_ITEMS + 1))
        except RuntimeError:  # another thread changed it
            continue
    return []
