"""Which MCP servers a session gets: those of the call, else those of the user's file that all agents get.

Knows no TOML and no protocol. Commands are made whole paths here, and "${NAME}" the variable's value; what
an agent cannot take is an error that says so, before the session is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.mcp import McpServer, expanded, read_servers
from ..core.requests import Capabilities
from ..core.visible import shown
from ..errors import UsageError
from .known_agents.launchers import find_command


@dataclass(frozen=True, slots=True)
class Servers:
    """What there is to choose from, for one agent."""

    named: Mapping[str, McpServer] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    """Those that a call gets which names none."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    learn: Callable[[Iterable[tuple[str, str]]], None] = lambda variables: None
    """Told the names and values of which some must not be seen."""

    def chosen(self, given: Any) -> tuple[McpServer, ...]:
        """None: none at all. Nothing: those that all agents get. Else exactly those that are given."""
        if given is None:
            return ()
        try:
            servers = read_servers(given) or self.always
            found = tuple(self._ready(it) for it in servers)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.learn([it for server in found for it in server.variables])
        return found

    def _named(self, name: str) -> McpServer:
        if name not in self.named:
            there = f"there are {', '.join(self.named)}" if self.named else "there are none"
            raise ValueError(f"no MCP server is called {shown(name)!r} in your file; {there}")
        return self.named[name]

    def _ready(self, given: McpServer | str) -> McpServer:
        server = self._expanded(self._named(given)) if isinstance(given, str) else given
        if server.type != "stdio":
            return server
        command = find_command(os.path.expanduser(server.command), self.environ.get("PATH"))
        if command is None:
            raise ValueError(
                f"the MCP server {server.name!r} is started by {shown(server.command)!r}, which is not on "
                "the PATH: install it, or give its whole path"
            )
        return replace(server, command=os.path.abspath(command))

    def _expanded(self, server: McpServer) -> McpServer:
        """One of the file's: a call has Python to put variables in."""
        what = f"the MCP server {server.name!r}"
        env = expanded(server.env, self.environ, what)
        return replace(server, env=env, headers=expanded(server.headers, self.environ, what))


def check_taken(servers: Iterable[McpServer], can: Capabilities, agent: str) -> None:
    """Raises UsageError for the first server that the agent cannot take."""
    takes = {"stdio": True, "http": can.mcp_http, "sse": can.mcp_sse}
    for server in servers:
        if not takes[server.type]:
            able = [kind for kind, ok in takes.items() if ok]
            raise UsageError(
                f"{agent} takes no MCP servers over {server.type}, and {server.name!r} is one; "
                f"it takes {' and '.join(able)}. Leave it out of mcp_servers= (None: no servers at all)"
            )
