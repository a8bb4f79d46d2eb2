"""Selects the MCP servers of a session: those of the call, else the user's default servers.

Resolves commands to absolute paths and "${NAME}" to variables. A server that the agent does not support is an
error before the session opens. Knows no TOML and no protocol.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from msgspec import field
from msgspec.structs import replace

from ..core.mcp import McpServer, expanded, read_servers
from ..core.records import Guarded
from ..core.requests import Capabilities
from ..core.visible import shown
from ..errors import UsageError
from .known_agents.launchers import find_command


class Servers(Guarded, frozen=True):
    """The MCP servers available to the sessions of one agent."""

    _unshown: ClassVar[tuple[str, ...]] = ("environ",)
    named: Mapping[str, McpServer] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    """The names of the default servers."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    is_local: bool = True
    """Whether the agent starts servers on this machine. If not, commands are passed on as they are, and
    default servers that are commands are left out: they are on this machine."""
    learn: Callable[[Iterable[tuple[str, str]]], None] = lambda variables: None
    """Receives the variables of the servers, so that their secrets can be redacted."""

    def chosen(self, given: Any) -> tuple[McpServer, ...]:
        """The servers for a session. `given`: None for no servers, empty for the default ones, else these.

        Raises UsageError.
        """
        if given is None:
            return ()
        try:
            found = tuple(self._ready(it) for it in read_servers(given) or self._defaults())
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.learn([it for server in found for it in server.variables])
        return found

    def _defaults(self) -> tuple[str, ...]:
        return tuple(it for it in self.always if it not in self.left_out)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The default servers that the agent does not get, because it cannot start them."""
        return () if self.is_local else tuple(it for it in self.always if self._named(it).type == "stdio")

    def _named(self, name: str) -> McpServer:
        if name not in self.named:
            there = f"they have {', '.join(self.named)}" if self.named else "they have none"
            raise ValueError(f"your settings have no MCP server {shown(name)!r}; {there}")
        return self.named[name]

    def _ready(self, given: McpServer | str) -> McpServer:
        server = self._expanded(self._named(given)) if isinstance(given, str) else given
        if server.type != "stdio" or not self.is_local:
            return server
        command = find_command(os.path.expanduser(server.command), self.environ.get("PATH"))
        if command is None:
            raise ValueError(
                f"the MCP server {server.name!r} needs the command {shown(server.command)!r}, which is not "
                "on the PATH: install it, or give its full path"
            )
        return replace(server, command=os.path.abspath(command))

    def _expanded(self, server: McpServer) -> McpServer:
        """Expand variables in a server from the settings file. In a call, Python can insert them."""
        what = f"the MCP server {server.name!r}"
        env = expanded(server.env, self.environ, what)
        return replace(server, env=env, headers=expanded(server.headers, self.environ, what))


def check_supported(servers: Iterable[McpServer], can: Capabilities, agent: str) -> None:
    """Raise UsageError for the first server that the agent does not support."""
    supports = {"stdio": True, "http": can.mcp_http, "sse": can.mcp_sse}
    for server in servers:
        if not supports[server.type]:
            able = [kind for kind, ok in supports.items() if ok]
            raise UsageError(
                f"{agent} does not support MCP servers over {server.type}, such as {server.name!r}; it "
                f"supports {' and '.join(able)}. Leave it out of mcp_servers= (None: no servers at all)"
            )
