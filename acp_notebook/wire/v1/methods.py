"""The names of methods: which belong to the protocol, and messages with names of anybody else.

The protocol reserves names with an underscore for extensions. Some agents use names of their own without one,
so only what the protocol owns is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from .. import tolerant_json
from .calls import Call
from .reading import Malformed

METHODS = frozenset(
    {
        *("initialize", "authenticate", "logout"),
        *("session/new", "session/load", "session/resume", "session/list", "session/close", "session/delete"),
        *("session/prompt", "session/cancel", "session/update", "session/request_permission"),
        *("session/set_mode", "session/set_config_option"),
        *("fs/read_text_file", "fs/write_text_file"),
        *(
            "terminal/create",
            "terminal/output",
            "terminal/wait_for_exit",
            "terminal/kill",
            "terminal/release",
        ),
        *("elicitation/create", "elicitation/complete"),
        "$/cancel_request",
    }
)
"""Every method of protocol version 1, of both sides."""

_NAMESPACES = frozenset(
    {name.split("/")[0] for name in METHODS if "/" in name}
    | {"auth", "mcp", "providers", "proxy", "tool_call"}
)
"""What comes before the first slash in the methods of version 1, and in those of the drafts."""


def owner(name: str) -> str | None:
    """Why a method belongs to the protocol, in words; None if it does not."""
    if name.startswith("_"):
        return None
    if name in METHODS:
        return "it is a method of the protocol"
    space, slash, _ = name.partition("/")
    if slash and space in _NAMESPACES:
        return f"the protocol owns the names that begin with {space}/"
    return None


def extension(method: str, params: Mapping[str, Any]) -> Call:
    """A request or notification beyond the protocol."""
    return method, params


def read_extension(content: Raw) -> Any:
    """The parameters or the result of a method beyond the protocol, as plain JSON."""
    try:
        return tolerant_json.loads(bytes(content))
    except tolerant_json.Unreadable as error:
        raise Malformed(str(error)) from None


def session_named(params: Any) -> str | None:
    """The session that the parameters of a method beyond the protocol name, as most do."""
    found = params.get("sessionId") if isinstance(params, dict) else None
    return found if isinstance(found, str) else None
