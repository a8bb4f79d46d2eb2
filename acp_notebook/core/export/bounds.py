"""How much of something is shown: cut visibly, counted in people's units, JSON without ids and times.

Knows no blocks and no markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from ..records import Json

JSON_LINES = 200
"""Of a message that we do not know: enough to see what it is."""
JSON_DEPTH = 20
"""Deeper than any message of the protocol, far below the interpreter's recursion limit."""
LINE_CHARS = 2000
"""Of one line: a minified file is not read in a notebook."""
STRING_CHARS = 1000
"""Of a string in JSON: base64 data is not read at all; a line has room for its key and its end."""

_VARYING_KEY = re.compile(r"(?:^|_)(?:id|at|timestamp|uuid)$|(?:Id|ID|At|Timestamp|Uuid)$")
"""Keys whose values differ from run to run, whatever the message is."""


def shortened(text: str, limit: int = LINE_CHARS) -> str:
    """The beginning of a long line, and how much of it is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… {len(text) - limit:,} more characters"


def bounded(lines: Sequence[str], limit: int) -> str:
    """The first lines, and how many are missing."""
    shown = [shortened(line) for line in lines[:limit]]
    if len(lines) > limit:
        shown.append(f"… {len(lines) - limit:,} more lines")
    return "\n".join(shown)


def size(count: int) -> str:
    """A number of bytes for people."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def pretty_json(value: Json) -> str:
    """JSON for people, bounded; what differs from run to run is shown as "…"."""
    text = json.dumps(_steady(value, JSON_DEPTH), indent=2, ensure_ascii=False, default=_type_name)
    return bounded(text.split("\n"), JSON_LINES)


def _steady(value: Json, depth: int) -> Json:
    if isinstance(value, str):
        return shortened(value, STRING_CHARS)
    if isinstance(value, Mapping):
        return {str(key): _steady_field(str(key), item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return "…" if depth == 0 else [_steady(item, depth - 1) for item in value]
    return value


def _steady_field(key: str, value: Json, depth: int) -> Json:
    if depth == 0 or (_VARYING_KEY.search(key) and isinstance(value, str | int | float)):
        return "…"
    return _steady(value, depth - 1)


def _type_name(value: object) -> str:
    # Never repr(): it may hold a memory address.
    return type(value).__name__
