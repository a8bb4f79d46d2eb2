"""JSON as agents really write it, read into plain Python objects that are safe everywhere.

Knows no message types. The fast path is msgspec's; this is what happens when that refuses: NaN and
infinities become null, lone surrogates and broken UTF-8 become U+FFFD (they would kill Jupyter's own
packer later), and what is nested too deeply is refused instead of exhausting the stack.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_NESTING = 100
"""Deeper values are refused: our own recursion over them must never exhaust the stack."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Unreadable(ValueError):
    """Not JSON that we can take; the message says why, in a few words."""


def loads(data: bytes) -> Any:
    """Plain Python objects, repaired; raises Unreadable."""
    check_nesting(data)
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON: {error}") from None
    return _repaired(value) if "\\u" in text else value


def check_nesting(data: bytes) -> None:
    """Raise Unreadable for a value that is nested too deeply; linear, and almost free as a rule."""
    if len(data) <= MAX_NESTING or data.count(b"{") + data.count(b"[") <= MAX_NESTING:
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


def _no_constant(_: str) -> None:
    """NaN, Infinity and -Infinity are not JSON: null is the honest reading."""


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_repaired(item) for item in value]
    if isinstance(value, dict):
        return {_repaired(name): _repaired(item) for name, item in value.items()}
    return value
