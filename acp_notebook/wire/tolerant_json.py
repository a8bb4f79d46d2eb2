"""Read JSON as agents really write it into plain Python objects that are safe everywhere.

Independent of message types. msgspec is the fast path; this reads what msgspec refuses: NaN, infinities and
numbers that are too large become null, lone surrogates and broken UTF-8 become U+FFFD (they would break
Jupyter's message packer later), and values that are nested too deeply are refused, instead of exhausting the
stack.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

MAX_NESTING = 100
"""Deeper values are refused: our own recursion must never exhaust the stack."""

TOO_SHORT_TO_CHECK = 2 * MAX_NESTING
"""A value of this length cannot be nested too deeply, because every level takes two characters."""

_LONG = 16 * 1024
"""From here on, brackets are looked for one by one instead of counted."""

# Possessive, and accepts a string without an end, so that time and memory are linear in the line's length.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Unreadable(ValueError):
    """The data is not JSON that we accept; the message briefly says why."""


def loads(data: bytes) -> Any:
    """Read and repair plain Python objects; raises Unreadable."""
    check_nesting(data)
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_float, parse_int=_int)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON: {error}") from None
    return repaired(value) if "\\u" in text else value


def check_nesting(data: bytes | bytearray) -> None:
    """Raise Unreadable for a value that is nested too deeply; takes linear time, and usually almost none."""
    if len(data) <= TOO_SHORT_TO_CHECK or not _has_more_brackets(data, MAX_NESTING):
        return
    depth = 0
    for token in _TOKEN.finditer(data):
        first = data[token.start()]
        if first in b"[{":
            depth += 1
            if depth > MAX_NESTING:
                raise Unreadable(f"nested deeper than {MAX_NESTING} levels")
        elif first in b"]}":
            depth -= 1


def _has_more_brackets(data: bytes | bytearray, number: int) -> bool:
    """Whether more brackets than this are opened, in strings or not."""
    if len(data) < _LONG:
        return data.count(b"{") + data.count(b"[") > number
    for bracket in (b"{", b"["):  # `find` is ten times as fast as `count`, if there are few of them
        at = data.find(bracket)
        while at >= 0:
            number -= 1
            if number < 0:
                return True
            at = data.find(bracket, at + 1)
    return False


def _no_constant(_: str) -> None:
    """Read NaN, Infinity and -Infinity, which are not JSON, as null."""


def _float(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _int(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:  # more digits than Python converts
        return None


def repaired(value: Any) -> Any:
    """Replace lone surrogates, which cannot be written as UTF-8, by U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [repaired(item) for item in value]
    if isinstance(value, dict):
        return {repaired(name): repaired(item) for name, item in value.items()}
    return value
