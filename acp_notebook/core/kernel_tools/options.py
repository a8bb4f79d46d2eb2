"""Validates `tools=` of a session and of the settings file. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from .calls import TOOLS

KEYS = ("http", "hide", "deny")

FORMS = (
    'it is True, False, "http", or a mapping with some of hide (names of variables), deny (names of tools) '
    "and http (True or False)"
)


class ToolOptions(Struct, frozen=True):
    """Whether a session's agent gets the kernel's tools, how, and which of them."""

    on: bool = False
    http: bool = False
    """Over HTTP on the loopback interface instead of a private socket."""
    hide: tuple[str, ...] = ()
    """Patterns (with * and ?) of variables that are neither listed nor inspected. Code sees everything."""
    deny: tuple[str, ...] = ()
    """Tools that are not offered."""


OFF = ToolOptions()


def read_options(value: Any, default: ToolOptions = OFF) -> ToolOptions:
    """Validate the options; None means `default`. Raises ValueError that says what is allowed."""
    if value is None:
        return default
    if isinstance(value, bool):
        return ToolOptions(on=value)
    if value == "http":
        return ToolOptions(on=True, http=True)
    if not isinstance(value, Mapping):
        raise ValueError(f"tools is {value!r}; {FORMS}")
    for key in value:
        if key not in KEYS:
            raise ValueError(f"tools has {key!r}; it may have {', '.join(KEYS)}")
    http = value.get("http", False)
    if not isinstance(http, bool):
        raise ValueError(f"tools: http is True or False, not {http!r}")
    deny = _names(value, "deny")
    for name in deny:
        if name not in TOOLS:
            import difflib  # import it only if needed

            close = difflib.get_close_matches(name, TOOLS, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(TOOLS)}"
            raise ValueError(f"tools: deny names {name!r}; {meant}")
    return ToolOptions(True, http, _names(value, "hide"), deny)


def _names(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = value.get(key, ())
    if isinstance(names, str) or not isinstance(names, list | tuple | set | frozenset):
        raise ValueError(f"tools: {key} is a list of names")
    if not all(isinstance(it, str) and it for it in names):
        raise ValueError(f"tools: {key} is a list of names")
    return tuple(names)
