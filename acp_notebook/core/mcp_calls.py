"""Finds out which tool of which MCP server a tool call uses, from the names that agents give.

Pure. The result is sure if the agent names the tool in a field meant for that (`name`, or one that its quirks
specify). A model or a server may choose a title, so a title is never sure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from .actions import CallFunction, McpCall
from .patterns import pattern
from .records import Json
from .snapshot import ToolCall


class KnownFunction(Struct, frozen=True):
    """One of the user's functions: what it takes, and what a call of it would do (or ValueError)."""

    takes: frozenset[str]
    action: Callable[[Mapping[str, Json]], CallFunction]


class Naming(Struct, frozen=True):
    """How an agent names MCP tools."""

    meta: tuple[str, ...] = ()
    """The path in `_meta` to the tool's name."""
    input: bool = False
    """The raw input of an MCP call is {server, tool, arguments}, and its title `mcp.server.tool`."""
    own: tuple[str, ...] = ()
    """Servers that are part of the agent: their tools are the agent's own."""
    servers: tuple[str, ...] = ()
    """The servers of the session."""
    title: bool = False
    """The agent itself sets the title of an MCP call of the kind "other" to the tool's name."""
    kernel: str = ""
    """The agent's name for the server of the kernel's tools, if the session has it."""
    functions: Mapping[str, KnownFunction] = {}
    """The user's functions, which are tools of that server."""


NO_NAMING = Naming()

_NAME = pattern(r"mcp__(.+)", re.DOTALL)
_PARTS = pattern(r"((?:(?!__).)+)__((?:(?!__).)+)")
_DOTTED = pattern(r"mcp[.:/]([^.:/\s]+)[.:/](\S+)")
_SERVER_LAST = pattern(r"(\S+) \((.+) MCP Server\)")


def mcp_call(tool: ToolCall, naming: Naming = NO_NAMING) -> McpCall | None:
    """The MCP tool that a tool call uses; None if it does not appear to use one."""
    names = list(dict.fromkeys(_names(tool, naming)))
    if names:
        found = [it for name in names if (it := _parsed(name)) is not None]
        if len(names) > 1:
            found = [McpCall(it.server, it.tool) for it in found]
    else:
        found = [*_in_input(tool, naming), *_in_title(tool, naming)]
    return next((it for it in found if it.server not in naming.own), None)


def _names(tool: ToolCall, naming: Naming) -> Iterator[str]:
    """Yield the tool's name from the fields meant for it."""
    if tool.name:
        yield tool.name
    value = tool.meta if naming.meta else None
    for key in naming.meta:
        value = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(value, str) and value:
        yield value


def _parsed(name: str) -> McpCall | None:
    """Parse `mcp__server__tool`. Sure only if it is unambiguous: names may contain underscores, too."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    parts = _PARTS.fullmatch(found[1])
    if parts is not None and not any(it.startswith("_") or it.endswith("_") for it in parts.groups()):
        return McpCall(parts[1], parts[2], sure=True)
    server, _, tool = found[1].partition("__")
    return McpCall(server, tool)


def _in_input(tool: ToolCall, naming: Naming) -> Iterator[McpCall]:
    match tool.raw_input:
        case {"server": str(server), "tool": str(name), **more} if (
            server and name and {*more} <= {"arguments"}
        ):
            yield McpCall(server, name, sure=naming.input and tool.title == f"mcp.{server}.{name}")


def _in_title(tool: ToolCall, naming: Naming) -> Iterator[McpCall]:
    title = tool.title.strip()

    def is_sure(server: str) -> bool:
        """A title proves nothing, except for the kernel's tools, whose calls our own server checks."""
        by_agent = naming.title and tool.kind == "other"
        return by_agent and naming.kernel != "" and same_name(server, naming.kernel)

    if (found := _parsed(title)) is not None:
        yield McpCall(found.server, found.tool, found.sure and is_sure(found.server))
    elif (dotted := _DOTTED.fullmatch(title)) is not None:
        yield McpCall(dotted[1], dotted[2])
    elif (last := _SERVER_LAST.fullmatch(title)) is not None:
        yield McpCall(last[2], last[1], is_sure(last[2]))
    else:
        for server in naming.servers:
            rest = title.removeprefix(server)
            if rest != title and re.fullmatch(r"[_/.:-]+\w\S*", rest):
                yield McpCall(server, rest.lstrip("_/.:-"), is_sure(server))


def same_name(one: str, other: str) -> bool:
    """Whether two names may be the same: agents replace characters that their models do not accept."""
    return squashed(one) == squashed(other)


def squashed(name: str) -> str:
    return re.sub(r"[^a-z0-9*]+", "_", name.lower()).strip("_")
