"""Limits how much of an object goes into a prompt, and shortens the rest, never silently.

Imports no data library. Whatever an object's own `repr` does, the result is short and says what is missing.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ...log import logger

_log = logger(__name__)

TEXT_CHARS = 20_000
"""Per object: about five thousand tokens, so that several objects fit into any agent's context."""

CELL_CHARS = 60
"""Per table cell: ten rows of twenty columns stay below TEXT_CHARS."""

LEAF_CHARS = 1_000
"""Per value in a list or dict."""

ITEMS = 100
"""Per list or dict; nested ones share ten times as many."""

DEPTH = 6

LINE_CHARS = 100
SHORT_CHARS = 12
"""Items this short, mostly numbers, share a line."""

MIDDLE = 2 / 3
"""Where a long text is cut: its end often matters (an error's last line), its beginning more."""


def bounded(text: str, chars: int = TEXT_CHARS) -> str:
    """Cut a long text in its middle and say how much is left out."""
    if len(text) <= chars:
        return text
    head = int(chars * MIDDLE)
    gone = len(text) - chars
    tail = text[len(text) - chars + head :]
    return f"{text[:head]}\n… {gone:,} of {len(text):,} characters left out …\n{tail}"


def cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


def is_a(value: Any, library: str, *names: str) -> bool:
    """Like isinstance for these class names of a library, without importing it."""
    return any(
        kind.__name__ in names and str(kind.__module__).partition(".")[0] == library
        for kind in type(value).__mro__
    )


def brief(value: Any, chars: int = CELL_CHARS) -> str:
    """A short text on one line, without formatting more than will be shown."""
    match value:
        case str():
            text = value[: chars * 2]
        case float():
            text = f"{value:.10g}"
        case _ if is_container(value):
            text = pretty(value, items=chars // 4)
        case bytes() | bytearray():
            text = leaf(value, chars)
        case _:
            text = _text(value)
    return cut(" ".join(text.split()), chars)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # the object's own code
        _log.debug("str() of an object failed", exc_info=True)
        return leaf(value)


def cell(value: Any, chars: int = CELL_CHARS) -> str:
    """A short text for a cell of a markdown table, where a bar must be escaped."""
    return brief(value, chars).replace("\\", "\\\\").replace("|", "\\|")


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def leaf(value: Any, chars: int = LEAF_CHARS) -> str:
    """The shortened repr of a value, or a placeholder if its repr fails."""
    if isinstance(value, str | bytes | bytearray):
        text = repr(value[:chars])
        return text if len(value) <= chars else f"{text}… ({len(value):,} long)"
    if is_a(value, "pandas", "DataFrame", "Series") or is_a(value, "polars", "DataFrame", "Series"):
        return f"<{type(value).__name__} of shape {value.shape}>"
    try:
        return cut(repr(value), chars)
    except Exception as error:  # the object's own code
        return f"<{type(value).__name__}: its repr fails with {type(error).__name__}>"


def pretty(value: Any, *, items: int = ITEMS) -> str:
    """Format nested containers in Python syntax, with the first items of each."""
    return _Formatter(items).format(value, 0, ())


class _Formatter:
    """Formats one nested value and counts the items that may still be shown."""

    def __init__(self, items: int) -> None:
        self._items = items
        self._left = items * 10

    def format(self, value: Any, level: int, within: tuple[int, ...]) -> str:
        if not is_container(value):
            return leaf(value)
        if id(value) in within:
            return "…"
        opening, closing = _brackets(value)
        if level >= DEPTH:
            return f"{opening}… {_length(value):,} items{closing}"
        parts = [*self._parts(value, level, (*within, id(value)))]
        if type(value) is tuple and len(value) == 1:
            parts = [f"{parts[0]},"]
        line = opening + ", ".join(parts) + closing
        if len(line) <= LINE_CHARS and "\n" not in line:
            return line
        lines = "\n".join(_packed(parts)).replace("\n", "\n    ")
        return f"{opening}\n    {lines}\n{closing}"

    def _parts(self, value: Any, level: int, within: tuple[int, ...]) -> Iterator[str]:
        for at, (prefix, item) in enumerate(_entries(value)):
            if at >= self._items or self._left <= 0:
                yield f"… {_length(value) - at:,} more"
                return
            self._left -= 1
            yield prefix + self.format(item, level + 1, within)


def _packed(parts: list[str]) -> list[str]:
    """Put each part on its own line, or several on a line if all are short."""
    if any(len(part) > SHORT_CHARS or "\n" in part for part in parts):
        return [f"{part}," for part in parts]
    lines = [""]
    for part in parts:
        if len(lines[-1]) + len(part) > LINE_CHARS:
            lines.append("")
        lines[-1] += f"{part}, "
    return [line.rstrip() for line in lines]


def is_container(value: Any) -> bool:
    return isinstance(value, dict | list | tuple | set | frozenset | deque) or _is_record(value)


def _is_record(value: Any) -> bool:
    """Whether it is a dataclass with the generated repr; a custom repr is used as it is."""
    generated = hasattr(type(value).__repr__, "__wrapped__")  # dataclasses wrap it to guard against recursion
    return generated and dataclasses.is_dataclass(value) and not isinstance(value, type)


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    if _is_record(value):
        return ((f"{it.name}=", getattr(value, it.name)) for it in dataclasses.fields(value) if it.repr)
    if isinstance(value, dict):
        return ((f"{brief(leaf(key), LINE_CHARS)}: ", item) for key, item in value.items())
    names = getattr(type(value), "_fields", None)
    if isinstance(value, tuple) and isinstance(names, tuple):
        return ((f"{name}=", item) for name, item in zip(names, value, strict=False))
    return (("", item) for item in value)


def _length(value: Any) -> int:
    return len(dataclasses.fields(value)) if _is_record(value) else len(value)


def _brackets(value: Any) -> tuple[str, str]:
    name = type(value).__name__
    match value:
        case _ if type(value) in _PLAIN and (value or type(value) not in (set, frozenset)):
            return _PLAIN[type(value)]
        case dict():
            return f"{name}({{", "})"
        case list() | set() | frozenset() | deque():
            return f"{name}([", "])"
    return f"{name}(", ")"


_PLAIN: dict[type, tuple[str, str]] = {dict: ("{", "}"), list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}")}


def first(values: Iterable[Any], count: int) -> list[Any]:
    return list(islice(values, count))
