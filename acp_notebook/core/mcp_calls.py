"""Which MCP server's tool a tool call uses, read from how agents name it.

Pure. A call is surely one where the agent names the tool in a field that is made for that (`name`, or what
its quirks say). Titles are words: a model or a server may choose them, so they are never sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from .actions import McpCall
from .snapshot import ToolCall


class Naming(Struct, frozen=True):
    """How an agent names the tools of MCP servers."""

    meta: tuple[str, ...] = ()
    """The keys in `_meta` that lead to the tool's name."""
    input: bool = False
    """The raw input of such a call is {server, tool, arguments}, and its title `mcp.server.tool`."""
    own: tuple[str, ...] = ()
    """Servers that are a part of the agent: their tools are the agent's own."""
    servers: tuple[str, ...] = ()
    """Those that the session was given."""


NO_NAMING = Naming()

_NAME = re.compile(r"mcp__(.+)", re.DOTALL)
_PARTS = re.compile(r"((?:(?!__).)+)__((?:(?!__).)+)")
_DOTTED = re.compile(r"mcp[.:/]([^.:/\s]+)[.:/](\S+)")
_SERVER_LAST = re.compile(r"(\S+) \((.+) MCP Server\)")


def mcp_call(tool: ToolCall, naming: Naming = NO_NAMING) -> McpCall | None:
    """None: it is none, as far as can be known."""
    names = list(dict.fromkeys(_names(tool, naming)))
    if names:
        found = [it for name in names if (it := _parsed(name)) is not None]
        if len(names) > 1:
            found = [McpCall(it.server, it.tool) for it in found]
    else:
        found = [*_in_input(tool, naming), *_in_title(tool, naming)]
    return next((it for it in found if it.server not in naming.own), None)


def _names(tool: ToolCall, naming: Naming) -> Iterator[str]:
    """The tool's name, from where agents state it as such."""
    if tool.name:
        yield tool.name
    value = tool.meta if naming.meta else None
    for key in naming.meta:
        value = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(value, str) and value:
        yield value


def _parsed(name: str) -> McpCall | None:
    """From `mcp__server__tool`. Sure only if it can be read in one way: names may have underscores, too."""
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
    if (found := _parsed(title)) is not None:
        yield McpCall(found.server, found.tool)
    elif (dotted := _DOTTED.fullmatch(title)) is not None:
        yield McpCall(dotted[1], dotted[2])
    elif (last := _SERVER_LAST.fullmatch(title)) is not None:
        yield McpCall(last[2], last[1])
    else:
        for server in naming.servers:
            rest = title.removeprefix(server)
            if rest != title and re.fullmatch(r"[_/.:-]+\w\S*", rest):
                yield McpCall(server, rest.lstrip("_/.:-"))


def same_name(one: str, other: str) -> bool:
    """Whether two names may mean the same: agents replace characters that their models do not take."""
    return squashed(one) == squashed(other)


def squashed(name: str) -> str:
    return re.sub(r"[^a-z0-9*]+", "_", name.lower()).strip("_")
