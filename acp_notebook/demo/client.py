"""What the client said it can do, read leniently from ``initialize``.

It knows no session and asks the client nothing.
"""

from __future__ import annotations

from typing import Any

from .rpc import Json


def _at(value: Any, *keys: str) -> Any:
    """A nested value, or None as soon as something on the way is missing or no object."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


class Client:
    """The client's capabilities as plain booleans."""

    def __init__(self, capabilities: Json | None = None) -> None:
        self.reads = _at(capabilities, "fs", "readTextFile") is True
        self.writes = _at(capabilities, "fs", "writeTextFile") is True
        self.terminal_login = _at(capabilities, "auth", "terminal") is True
        self.terminal = _at(capabilities, "terminal") is True
        # Marker capabilities: an object, even an empty one, means yes.
        self.notices = _at(capabilities, "session", "notices") is not None
        self.compaction = _at(capabilities, "session", "compaction") is not None
        self.forms = _at(capabilities, "elicitation", "form") is not None
        self.urls = _at(capabilities, "elicitation", "url") is not None
        self.booleans = _at(capabilities, "session", "configOptions", "boolean") is not None
