"""How much of an object goes into a prompt, and how it is cut: never silently.

Knows no library. Whatever an object's own `repr` does, what comes out of here is short and says so.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

TEXT_CHARS = 20_000
"""Of one object: some five thousand tokens, which any agent's context bears a few times."""

CELL_CHARS = 60
"""Of one cell of a table: ten rows of twenty columns stay below the limit of the whole."""

LEAF_CHARS = 1_000
"""Of one value within a list or a dict."""

ITEMS = 100
"""Of one list or dict; and ten times as many of all that are within one another."""

DEPTH = 6

LINE_CHARS = 100
SHORT_CHARS = 12
"""Numbers, mostly: many of them go on a line."""

MIDDLE = 2 / 3
"""Where a long text is cut: its end often matters (an error's last line), its beginning more."""


def bounded(text: str, chars: int = TEXT_CHARS) -> str:
    """The text, cut in its middle with a word on how much is left out."""
    if len(text) <= chars:
        return text
    head = int(chars * MIDDLE)
    gone = len(text) - chars
    tail = text[len(text) - chars + head :]
    return f"{text[:head]}\n… {gone:,} of {len(text):,} characters left out …\n{tail}"


def cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


def is_a(value: Any, library: str, *names: str) -> bool:
    """Whether it is of one of these classes, or derived: by name, so that nothing need be imported."""
    return any(
        kind.__name__ in names and str(kind.__module__).partition(".")[0] == library
        for kind in type(value).__mro__
    )


def brief(value: Any, chars: int = CELL_CHARS) -> str:
    """On one line, without any work on what would not be shown anyway."""
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
            text = _said(value)
    return cut(" ".join(text.split()), chars)


def _said(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # any object's own code
        return leaf(value)


def cell(value: Any, chars: int = CELL_CHARS) -> str:
    """For a cell of a markdown table, which a bar would end."""
    return brief(value, chars).replace("\\", "\\\\").replace("|", "\\|")


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def leaf(value: Any, chars: int = LEAF_CHARS) -> str:
    """Its repr, cut; also where there is none."""
    if isinstance(value, str | bytes | bytearray):
        text = repr(value[:chars])
        return text if len(value) <= chars else f"{text}… ({len(value):,} long)"
    if is_a(value, "pandas", "DataFrame", "Series") or is_a(value, "polars", "DataFrame", "Series"):
        return f"<{type(value).__name__} of shape {value.shape}>"
    try:
        return cut(repr(value), chars)
    except Exception as error:  # any object's own code
        return f"<{type(value).__name__}: its repr fails with {type(error).__name__}>"


def pretty(value: Any, *, items: int = ITEMS) -> str:
    """Lists, dicts and what is in them, as Python writes them; of each the first items."""
    return _Writer(items).written(value, 0, ())


class _Writer:
    def __init__(self, items: int) -> None:
        self._items = items
        self._left = items * 10

    def written(self, value: Any, level: int, within: tuple[int, ...]) -> str:
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
            yield prefix + self.written(item, level + 1, within)


def _packed(parts: list[str]) -> list[str]:
    """A line for each; short ones share lines."""
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
    """A dataclass that writes itself as dataclasses do; one that has its own way is left to it."""
    made = hasattr(type(value).__repr__, "__wrapped__")  # dataclasses guard against recursion by a wrapper
    return made and dataclasses.is_dataclass(value) and not isinstance(value, type)


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
