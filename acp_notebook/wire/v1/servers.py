"""MCP servers in the protocol's form: variables and headers as lists of names and values.

The form in which users write them is in `core.mcp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ...core.mcp import McpServer
from .. import schema as s


def mcp_servers(servers: Iterable[McpServer]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(_server(it)) for it in servers]


def _server(server: McpServer) -> s.Wire:
    match server.type:
        case "http":
            return s.McpServerHttp(name=server.name, url=server.url, headers=_pairs(server.headers))
        case "sse":
            return s.McpServerSse(name=server.name, url=server.url, headers=_pairs(server.headers))
    return s.McpServerStdio(
        name=server.name, command=server.command, args=list(server.args), env=_pairs(server.env)
    )


def _pairs(values: Mapping[str, str]) -> list[s.EnvVariable]:
    return [s.EnvVariable(name=name, value=value) for name, value in values.items()]
