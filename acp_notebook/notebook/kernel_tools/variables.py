"""Lists the variables of the user's namespace, from any thread, without running the user's code."""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Literal, NamedTuple

from ...log import logger
from .safe_text import scalar, shape_text
from .type_checks import (
    SIZED,
    base_of,
    derives_from,
    full_name,
    is_exactly,
    is_table,
    length_as,
    loaded,
    module_of,
    one_of,
    type_name,
)

_log = logger(__name__)

HIDDEN = frozenset({"In", "Out", "exit", "quit", "get_ipython"})

PREVIEWED = (bool, int, float, complex, type(None))
"""Types whose values the list shows, because they cannot be secrets."""

Family = Literal["array", "frame", "series", "polars", "tensor"]
"""Data whose library knows its shape and size without running the user's code."""

MOST_NAMES = 100
"""How many names of functions, classes and modules are listed."""


class Names:
    """Decides which variables are visible."""

    def __init__(self, hide: Iterable[str] = ()) -> None:
        patterns = [fnmatch.translate(it) for it in hide]
        self._hidden = re.compile("|".join(patterns)) if patterns else None

    def hides(self, name: str) -> bool:
        return self._hidden is not None and self._hidden.match(name) is not None

    def sees(self, name: str, value: Any, builtin: Mapping[str, Any]) -> bool:
        """Whether it is visible. IPython keeps hidden values in `_5` and `Out`, and all code in `In`."""
        return _is_users(name, value, builtin) and not self.hides(name)

    def visible(
        self, namespace: dict[str, Any], builtin: Mapping[str, Any], pattern: str | None = None
    ) -> list[tuple[str, Any]]:
        """The user's variables, newest first. `builtin`: names that the shell defined."""
        wanted = None if not pattern else re.compile(fnmatch.translate(pattern), re.IGNORECASE)
        hidden = self._hidden
        found = []
        for name, value in dict.copy(namespace).items():
            if not _is_users(name, value, builtin):
                continue
            if (wanted is None or wanted.match(name)) and (hidden is None or not hidden.match(name)):
                found.append((name, value))
        found.reverse()
        return found


def _is_users(name: str, value: Any, builtin: Mapping[str, Any]) -> bool:
    if type(name) is not str or name.startswith("_") or name in HIDDEN:
        return False
    return not (name in builtin and builtin[name] is value)


def list_variables(variables: list[tuple[str, Any]], limit: int = 50, *, pattern: str | None = None) -> str:
    """Format a line for each variable with data, and the names of functions, classes and modules."""
    groups: dict[str, list[tuple[str, Any]]] = {"": [], "functions": [], "classes": [], "modules": []}
    known: dict[int, str] = {}  # by the type's id: thousands of variables have few types
    for name, value in variables:
        group = known.get(id(type(value)))
        if group is None:
            group = known[id(type(value))] = _group(value)
        groups[group].append((name, value))
    data = groups.pop("")
    limit = max(1, limit)
    lines = _lines(data[:limit])
    if len(data) > limit:
        lines.append(f"… {len(data) - limit:,} more; name a pattern such as 'df*', or a higher limit")
    for group, members in groups.items():
        if members:
            names = ", ".join(name for name, _ in members[:MOST_NAMES])
            more = f", … {len(members) - MOST_NAMES:,} more" if len(members) > MOST_NAMES else ""
            lines.append(f"{group}: {names}{more}")
    if not lines:
        return f"No variables match {pattern!r}." if pattern else "The namespace has no variables yet."
    return "\n".join(lines)


def _group(value: Any) -> str:
    if base_of(value, (type, ModuleType)) is type:
        return "classes"
    if base_of(value, (ModuleType,)):
        return "modules"
    return "functions" if one_of(type(value), (FunctionType, BuiltinFunctionType)) else ""


class _Kind(NamedTuple):
    """What all variables of one type have in common."""

    text: str
    is_previewed: bool
    family: Family | None
    sized: Any
    """The builtin class that counts its items; None if it has no length."""
    is_text: bool


def _lines(variables: list[tuple[str, Any]]) -> list[str]:
    kinds: dict[int, _Kind] = {}
    lines = []
    for name, value in variables:
        kind = kinds.get(id(type(value)))
        if kind is None:
            kind = kinds[id(type(value))] = _kind(value)
        if kind.is_previewed:
            lines.append(f"{name}: {kind.text} = {scalar(value, 60)}")
        elif kind.family in ("frame", "series") and not is_table(value):  # to measure it would run code
            lines.append(f"{name}: {kind.text}")
        else:
            parts = (f"{name}: {kind.text}", _extent(value, kind), _size(value, kind))
            lines.append(", ".join(filter(None, parts)))
    return lines


def _kind(value: Any) -> _Kind:
    kind = type(value)
    is_text = one_of(kind, (str, bytes, bytearray))
    return _Kind(_type(kind), one_of(kind, PREVIEWED), family_of(value), base_of(value, SIZED), is_text)


def _type(kind: type) -> str:
    return type_name(kind) if module_of(kind) in ("builtins", "__main__") else full_name(kind)


def family_of(value: Any) -> Family | None:
    """Which library's data it is, decided by its class."""
    if derives_from(value, "numpy", "ndarray"):
        return "array"
    if is_exactly(value, "pandas", "DataFrame"):
        return "frame"
    if is_exactly(value, "pandas", "Series"):
        return "series"
    if is_exactly(value, "polars", "DataFrame", "Series"):
        return "polars"
    return "tensor" if is_exactly(value, "torch", "Tensor") else None


def _extent(value: Any, kind: _Kind) -> str:
    """The shape or length, from the library's own C code or properties."""
    try:
        match kind.family:
            case "array":
                array = loaded("numpy", "ndarray")
                return f"{shape_text(array.shape.__get__(value))} {array.dtype.__get__(value).name}"
            case "frame" | "series" | "polars":
                return shape_text(value.shape)
            case "tensor":
                return f"{shape_text(value.shape)} {value.dtype}"
    except Exception:  # an object that is not initialised, or that another thread is changing
        _log.debug("a variable could not be measured", exc_info=True)
        return ""
    length = None if kind.sized is None else length_as(kind.sized, value)
    if length is None:
        return ""
    return f"{length:,} {'characters' if issubclass(type(value), str) else 'items'}"


def _size(value: Any, kind: _Kind) -> str:
    try:
        match kind.family:
            case "array":
                size = int(loaded("numpy", "ndarray").nbytes.__get__(value))
            case "frame":
                size = int(value.memory_usage(index=True).sum())
            case "series":
                size = int(value.memory_usage(index=True))
            case "polars":
                size = int(value.estimated_size())
            case "tensor":
                size = int(value.numel() * value.element_size())
            case None if kind.is_text:
                size = sys.getsizeof(value)
            case _:
                return ""
    except Exception:  # as above
        _log.debug("a variable could not be measured", exc_info=True)
        return ""
    return size_text(size) if size >= 1_000 else ""


def size_text(size: int) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1_000 or unit == "GB":
            break
        size = round(size / 1_000)
    return f"{size:,} {unit}"
