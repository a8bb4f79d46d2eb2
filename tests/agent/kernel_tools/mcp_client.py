"""An MCP client over the proxy or a bare socket, and tools to serve that need no kernel."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from acp_notebook.agent.kernel_tools import proxy
from acp_notebook.agent.kernel_tools.server import Result
from acp_notebook.core.records import Image, Text
from acp_notebook.wire.mcp import ToolRequest

LIMIT_S = 60.0


class EchoTools:
    """Answers with its arguments; `hold` waits until the test lets go."""

    instructions = "how to use them"

    def __init__(self) -> None:
        self.calls: list[ToolRequest] = []
        self.held = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.go = asyncio.Event()
        self.also = ""
        """The name of another tool."""

    def listed(self) -> list[dict[str, Any]]:
        names = ("echo", self.also) if self.also else ("echo",)
        return [{"name": name, "inputSchema": {"type": "object"}} for name in names]

    def progress(self, task: asyncio.Task[Any] | None) -> str:
        return "40 %" if self.held.is_set() else ""

    async def call(self, request: ToolRequest) -> Result:
        self.calls.append(request)
        if request.name == "hold":
            self.held.set()
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        if request.name == "fail":
            raise ZeroDivisionError("a bug in the tools")
        if request.name == "picture":
            return Result((Text("seen"), Image("AAAA", "image/png")))
        return Result((Text(json.dumps(dict(request.arguments))),), failed=request.name == "no")


class Client:
    """Speaks MCP over a pair of streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._last = 0

    def send(self, message: dict[str, Any] | bytes) -> None:
        data = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.writer.write(data + b"\n")

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> int:
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params})
        return self._last

    async def hear(self) -> Any:
        """The next message; None: the connection ended."""
        line = await asyncio.wait_for(self.reader.readline(), LIMIT_S)
        return json.loads(line) if line else None

    async def request(self, method: str, **params: Any) -> Any:
        id = self.ask(method, **params)
        while True:
            message = await self.hear()
            if message is None or message.get("id") == id:
                return message

    async def tool(self, name: str, **arguments: Any) -> str:
        answer = await self.request("tools/call", name=name, arguments=arguments)
        return "\n".join(it["text"] for it in answer["result"]["content"] if it["type"] == "text")


async def by_socket(path: str, token: str) -> Client:
    client = Client(*await asyncio.open_unix_connection(path, limit=1 << 26))
    client.send(token.encode())
    return client


class ProxyClient(Client):
    """Over the proxy, as an agent starts it."""

    process: asyncio.subprocess.Process


async def by_proxy(path: str, token: str) -> ProxyClient:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", proxy.__file__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"ACP_KERNEL_SOCKET": path, "ACP_KERNEL_TOKEN": token, "PATH": os.environ.get("PATH", "")},
        limit=1 << 26,
    )
    assert process.stdout is not None and process.stdin is not None
    client = ProxyClient(process.stdout, process.stdin)
    client.process = process
    return client
