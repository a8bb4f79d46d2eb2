"""Validates MCP servers as users write them: a command (stdio) or an address (http, sse).

Pure: looks up no command and reads no variable. Users may also write the protocol's own form; `wire`
produces it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from msgspec import field

from .patterns import pattern
from .records import Guarded

TYPES = ("stdio", "http", "sse")
KEYS = ("name", "type", "command", "args", "env", "url", "headers")

_REFERENCE = pattern(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER = pattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class McpServer(Guarded, frozen=True, kw_only=True):
    """An MCP server. Its variables and headers are not in the repr: they usually hold secrets."""

    _unshown: ClassVar[tuple[str, ...]] = ("env", "headers")
    name: str
    type: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[tuple[str, str], ...]:
        """Names and values of everything that may be or contain a secret."""
        address = (("url", self.url),) if self.url else ()
        return (*self.env.items(), *self.headers.items(), *address)


def read_servers(value: Any) -> tuple[McpServer | str, ...]:
    """Validate a list of servers and names, or a mapping from names to servers; raises ValueError."""
    if isinstance(value, str):
        raise ValueError(f"mcp_servers is a list: write mcp_servers=[{value!r}]")
    if isinstance(value, Mapping):
        if {"name", "command", "url"} & set(value) and not all(
            isinstance(it, Mapping) for it in value.values()
        ):
            raise ValueError(
                "mcp_servers is a list of servers, or a mapping from names to servers: put it in []"
            )
        return tuple(read_server(it, str(name)) for name, it in value.items())
    if not isinstance(value, Iterable):
        raise ValueError(f"mcp_servers is a list, not {type(value).__name__}")
    found = tuple(it if isinstance(it, str | McpServer) else read_server(it) for it in value)
    names = [it if isinstance(it, str) else it.name for it in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two MCP servers are called {twice!r}")
    return found


def read_server(value: Any, name: str | None = None) -> McpServer:
    """Validate one server; raises ValueError that says what is wrong and what is allowed."""
    if not isinstance(value, Mapping):
        raise ValueError(f"an MCP server is a mapping, not {type(value).__name__}")
    called = name if name is not None else value.get("name")
    if not isinstance(called, str) or not called.strip():
        raise ValueError('an MCP server needs a name: {"name": "files", "command": …}')
    what = f"the MCP server {called!r}"
    for key in value:
        if key not in KEYS and key != "_meta":
            raise ValueError(f"{what} has {key!r}; {_allowed(str(key), KEYS)}")
    kind = _type(value, what)
    if kind == "stdio":
        _absent(value, what, "is started by a command", "url", "headers")
        command, args = _command(value, what)
        env = _pairs(value.get("env", {}), f"env of {what}")
        for variable in env:
            if not variable or "=" in variable or "\0" in variable:
                raise ValueError(f"env of {what}: {variable!r} cannot be the name of a variable")
        return McpServer(name=called, command=command, args=args, env=env)
    _absent(value, what, f"is reached by {kind}", "command", "args", "env")
    headers = _pairs(value.get("headers", {}), f"headers of {what}")
    for header, text in headers.items():
        if not _HEADER.fullmatch(header) or re.search(r"[\r\n\0]", text):
            raise ValueError(f"headers of {what}: {header!r} cannot be sent as a header")
    return McpServer(name=called, type=kind, url=_url(value.get("url"), what), headers=headers)


def expanded(values: Mapping[str, str], environ: Mapping[str, str], what: str) -> dict[str, str]:
    """Replace "${NAME}" in values by the variable's value; raises ValueError if it is not set."""

    def put(found: re.Match[str]) -> str:
        if found[1] not in environ:
            raise ValueError(f"{what} wants the environment variable {found[1]}, which is not set")
        return environ[found[1]]

    return {name: _REFERENCE.sub(put, text) for name, text in values.items()}


def references(text: str) -> list[str]:
    """The names of the variables that a value refers to."""
    return _REFERENCE.findall(text)


def _allowed(key: str, keys: Iterable[str]) -> str:
    import difflib  # import it only if needed

    close = difflib.get_close_matches(key, list(keys), n=1)
    return f"did you mean {close[0]!r}?" if close else f"it may have {', '.join(keys)}"


def _type(value: Mapping[Any, Any], what: str) -> Literal["stdio", "http", "sse"]:
    kind = value.get("type", "http" if "url" in value else "stdio")
    if kind not in TYPES:
        raise ValueError(f"{what} has the type {kind!r}; it may be {', '.join(TYPES)}")
    if ("command" in value) == ("url" in value):
        raise ValueError(f"{what} needs a command or a url, one of them")
    chosen: Literal["stdio", "http", "sse"] = kind
    return chosen


def _absent(value: Mapping[Any, Any], what: str, why: str, *keys: str) -> None:
    for key in keys:
        if value.get(key):
            raise ValueError(f"{what} {why}: it has no {key}")


def _command(value: Mapping[Any, Any], what: str) -> tuple[str, tuple[str, ...]]:
    command, args = value.get("command"), value.get("args", ())
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list | tuple) or not isinstance(args, list | tuple):
        raise ValueError(f"{what}: command is a text, or a list of words; args is a list")
    words = [*words, *args]
    if not words or not words[0] or not all(isinstance(it, str) and "\0" not in it for it in words):
        raise ValueError(f"{what}: command and args are texts")
    return words[0], tuple(words[1:])


def _pairs(value: Any, what: str) -> dict[str, str]:
    """Read a mapping, or the protocol's list of names and values. Errors never contain values (secrets)."""
    if isinstance(value, list | tuple):
        if not all(isinstance(it, Mapping) and {"name", "value"} <= set(it) for it in value):
            raise ValueError(f"{what}: write a mapping from names to texts")
        value = {it["name"]: it["value"] for it in value}
    if not isinstance(value, Mapping):
        raise ValueError(f"{what}: write a mapping from names to texts")
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise ValueError(f"{what}: {name!r} must be a text, not {type(text).__name__}")
    return dict(value)


def _url(value: Any, what: str) -> str:
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{what}: url is not an http or https address")
    return str(value)
