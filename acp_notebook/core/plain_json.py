"""Checks that a value of the user is plain JSON, before it is sent to an agent. Pure.

An encoder would accept more, and change it on the way: NaN becomes null, a number as key becomes a text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .records import Json

MAX_NESTING = 64
"""Deeper values are refused: agents' parsers have limits, and a value may contain itself."""

_INTEGERS = range(-(2**63), 2**64)


def plain_json(value: Any, what: str) -> Json:
    """A copy of the value with JSON types only; raises ValueError that names the part that is not JSON."""
    return _plain(value, what, 0)


def plain_object(value: Any, what: str) -> dict[str, Json]:
    """The same for a value that must be a mapping."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must be a mapping with names as keys, not {_a(value)}")
    made: dict[str, Json] = _plain(value, what, 0)
    return made


def _plain(value: Any, where: str, depth: int) -> Json:
    if depth > MAX_NESTING:
        raise ValueError(
            f"{_shortened(where)} is nested deeper than {MAX_NESTING} levels, or contains itself"
        )
    if value is None or isinstance(value, bool):
        return value
    # Exactly these types: NumPy's float64 is a float, and an enum may be a str.
    if type(value) is str:
        return value
    if type(value) is int and value in _INTEGERS:
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, Mapping):
        return {_key(key, where): _plain(it, f"{where}[{key!r}]", depth + 1) for key, it in value.items()}
    if type(value) in (list, tuple):
        return [_plain(it, f"{where}[{index}]", depth + 1) for index, it in enumerate(value)]
    raise ValueError(f"{_shortened(where)} is {_a(value)}, which JSON does not have")


def _key(key: Any, where: str) -> str:
    if type(key) is not str:
        raise ValueError(f"{_shortened(where)} has the key {key!r:.80}; in JSON, keys are text")
    return key


def _a(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"the number {value!r:.40} ({type(value).__name__})"
    return f"a value of the type {type(value).__name__}"


def _shortened(where: str) -> str:
    return where if len(where) <= 200 else f"{where[:100]} … {where[-80:]}"
