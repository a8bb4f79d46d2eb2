"""A client of one MCP server over stdio: as much of MCP as it takes to call a tool.

It knows no tool by name, and not what the answers are for.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from typing import Any

from .rpc import Json

VERSION = "2025-11-25"
MAX_LINE = 64 * 1024 * 1024
EXIT_S = 2.0
"""How long the server may take to end when its input does."""


class McpTrouble(Exception):
    """The server is not there, or refuses; the message says why."""


class McpServer:
    """A server that was started; calls may run next to each other."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process
        self._ids = itertools.count(1)
        self._open: dict[int, asyncio.Future[Json]] = {}
        self._reading = asyncio.create_task(self._read())

    async def call(self, tool: str, arguments: Json, *, call_id: str | None = None) -> Json:
        """The tool's result: content, and perhaps isError. `call_id`: of our own tool call."""
        meta = {} if call_id is None else {"_meta": {"callId": call_id}}
        return await self.request("tools/call", {"name": tool, "arguments": arguments, **meta})

    async def request(self, method: str, params: Json) -> Json:
        id = next(self._ids)
        answer = self._open[id] = asyncio.get_running_loop().create_future()
        if self._reading.done():
            raise McpTrouble("the MCP server has ended")
        self._send({"id": id, "method": method, "params": params})
        try:
            result: Json = await answer
            return result
        except asyncio.CancelledError:
            self._send({"method": "notifications/cancelled", "params": {"requestId": id}})
            raise
        finally:
            del self._open[id]

    def _send(self, message: Json) -> None:
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            answer = self._open.get(message.get("id"))
            if answer is None or answer.done() or "method" in message:
                continue
            if "error" in message:
                answer.set_exception(McpTrouble(str(message["error"].get("message"))))
            else:
                answer.set_result(message["result"])
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(McpTrouble("the MCP server has ended"))

    async def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), EXIT_S)
        except TimeoutError:
            self._process.kill()


async def started(server: Json) -> McpServer:
    """Start a stdio server as `session/new` names it, and introduce ourselves."""
    env = {str(it["name"]): str(it["value"]) for it in server.get("env", [])}
    try:
        process = await asyncio.create_subprocess_exec(
            str(server["command"]),
            *map(str, server.get("args", [])),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **env},
            limit=MAX_LINE,
        )
    except (OSError, KeyError) as error:
        raise McpTrouble(f"the MCP server {server.get('name')!r} cannot be started ({error})") from error
    made = McpServer(str(server["name"]), process)
    about: dict[str, Any] = {"capabilities": {}, "clientInfo": {"name": "acp_notebook demo", "version": "1"}}
    await made.request("initialize", {"protocolVersion": VERSION, **about})
    made._send({"method": "notifications/initialized", "params": {}})
    return made
