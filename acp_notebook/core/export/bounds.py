"""Limit how much is shown: truncate visibly, format sizes for people, format JSON without ids and times.

Independent of blocks and markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from ..records import Json

JSON_LINES = 200
"""Lines of an unknown message: enough to see what it is."""
JSON_DEPTH = 20
"""Deeper than any message of the protocol, far below the interpreter's recursion limit."""
LINE_CHARS = 2000
"""Characters of one line: nobody reads a minified file in a notebook."""
STRING_CHARS = 1000
"""Characters of a string in JSON: nobody reads base64 data. Leaves room for the key in LINE_CHARS."""

_VARYING_KEY = re.compile(r"(?:^|_)(?:id|at|timestamp|uuid)$|(?:Id|ID|At|Timestamp|Uuid)$")
"""Keys whose values differ from run to run, whatever the message is."""


def shortened(text: str, limit: int = LINE_CHARS) -> str:
    """Truncate a long line and say how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… {len(text) - limit:,} more characters"


def bounded(lines: Sequence[str], limit: int) -> str:
    """The first lines, and how many more there are."""
    shown = [shortened(line) for line in lines[:limit]]
    if len(lines) > limit:
        shown.append(f"… {len(lines) - limit:,} more lines")
    return "\n".join(shown)


def size(count: int) -> str:
    """Format a number of bytes for people."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def pretty_json(value: Json) -> str:
    """Format JSON for people, truncated; values that differ from run to run are shown as "…"."""
    text = json.dumps(_without_varying(value, JSON_DEPTH), indent=2, ensure_ascii=False, default=_type_name)
    return bounded(text.split("\n"), JSON_LINES)


def _without_varying(value: Json, depth: int) -> Json:
    if isinstance(value, str):
        return shortened(value, STRING_CHARS)
    if isinstance(value, Mapping):
        return {str(key): _field_without_varying(str(key), item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return "…" if depth == 0 else [_without_varying(item, depth - 1) for item in value]
    return value


def _field_without_varying(key: str, value: Json, depth: int) -> Json:
    if depth == 0 or (_VARYING_KEY.search(key) and isinstance(value, str | int | float)):
        return "…"
    return _without_varying(value, depth - 1)


def _type_name(value: object) -> str:
    # Not repr(), which may contain a memory address.
    return type(value).__name__
