"""One MCP connection of an agent: reads messages, runs calls as tasks, sends responses.

Knows neither what the tools do (`Tools`) nor the transport (`listener`, `http`). Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import UNSET, Raw, Struct

from ... import timeouts
from ..._version import __version__
from ...core.records import Image, Text
from ...wire import jsonrpc, mcp
from ...wire.jsonrpc import Garbage, Id, Notification, Request, RpcError

MAX_LINE = 16 * 1024 * 1024
"""Size limit of a message from an agent: code and notebook edits are far smaller."""

MAX_OPEN_CALLS = 32
"""Open calls of one connection. Models make only a few in parallel."""


class Result(Struct, frozen=True):
    """The result of a call."""

    blocks: Sequence[Text | Image]
    failed: bool = False


class Tools(Protocol):
    """The tools of one session, as a connection uses them."""

    instructions: str

    def listed(self) -> list[dict[str, Any]]:
        """The tools in the format of `tools/list`."""

    async def call(self, request: mcp.ToolRequest) -> Result:
        """Call a tool. Never raises, except when cancelled."""

    def progress(self, task: asyncio.Task[Any] | None) -> str:
        """What the call that this task makes reports of its progress, or ""."""


Send = Callable[[bytes], None]


class McpConnection:
    """Serves the tools over one connection, until it is closed."""

    def __init__(
        self, tools: Tools, send: Send, *, on_closed: Callable[[McpConnection], None] = lambda _: None
    ):
        self._tools = tools
        self._send = send
        self._on_closed = on_closed
        self._peer = jsonrpc.Peer(MAX_LINE)
        self._open: dict[Id, asyncio.Task[None]] = {}
        self._closed = False

    def receive(self, data: bytes, send: Send | None = None) -> None:
        """Handle received bytes. `send`: sends the responses to them, by default that of the connection."""
        for message in self._peer.receive(data):
            if not self._closed:
                self._handle(message, send or self._send)

    def tools_changed(self) -> None:
        self._send(self._peer.notification(mcp.LIST_CHANGED, {}))

    def close(self) -> None:
        """End all calls and send nothing more."""
        if self._closed:
            return
        self._closed = True
        for task in list(self._open.values()):
            task.cancel()
        self._on_closed(self)

    def _handle(self, message: jsonrpc.Incoming, send: Send) -> None:
        match message:
            case Request():
                self._request(message, send)
            case Notification(mcp.CANCELLED, params):
                self._cancelled(params)
            case Garbage(id=id) if id is not UNSET:
                send(self._peer.error(id, RpcError(message.code, message.why)))
            case _:  # other notifications, and responses, which are unexpected: this side sends no requests
                pass

    def _request(self, request: Request, send: Send) -> None:
        match request.method:
            case "tools/call":
                self._call(request, send)
            case "tools/list":
                send(self._peer.result(request.id, {"tools": self._tools.listed()}))
            case "initialize":
                send(self._peer.result(request.id, self._introduction(request.params)))
            case "ping":
                send(self._peer.result(request.id, {}))
            case method:
                error = RpcError(jsonrpc.METHOD_NOT_FOUND, f"Method not found: {method[:100]}")
                send(self._peer.error(request.id, error))

    def _introduction(self, params: Raw) -> dict[str, Any]:
        return mcp.introduction(
            mcp.read_version(params),
            name="kernel",
            title="The notebook's kernel",
            our_version=__version__,
            instructions=self._tools.instructions,
        )

    def _call(self, request: Request, send: Send) -> None:
        try:
            call = mcp.read_call(request.params)
        except mcp.Malformed as malformed:
            send(self._peer.error(request.id, RpcError(jsonrpc.INVALID_PARAMS, str(malformed))))
            return
        if request.id in self._open:
            twice = RpcError(jsonrpc.INVALID_REQUEST, f"the id {request.id!r} belongs to a call that is open")
            send(self._peer.error(request.id, twice))
        elif len(self._open) >= MAX_OPEN_CALLS:
            flood = RpcError(jsonrpc.INTERNAL_ERROR, f"more than {MAX_OPEN_CALLS} calls at once")
            send(self._peer.error(request.id, flood))
        else:
            task = asyncio.get_running_loop().create_task(self._serve(request.id, call, send))
            self._open[request.id] = task
            task.add_done_callback(lambda _: self._open.pop(request.id, None))

    async def _serve(self, id: Id, call: mcp.ToolRequest, send: Send) -> None:
        """Send one response; none after a cancel (MCP, "Cancellation")."""
        task, token = asyncio.current_task(), call.progress_token
        ticking = (
            None if token is None else _Progress(token, self._peer, send, lambda: self._tools.progress(task))
        )
        try:
            result = await self._tools.call(call)
            answer = self._peer.result(id, mcp.result(result.blocks, failed=result.failed))
        except Exception as unexpected:  # a bug in a tool: the agent must not wait forever
            answer = self._peer.error(
                id, RpcError(jsonrpc.INTERNAL_ERROR, f"the tool failed: {unexpected!r}")
            )
        finally:
            if ticking is not None:
                ticking.stop()
        if not self._closed:
            send(answer)

    def _cancelled(self, params: Raw) -> None:
        """Cancel a call. Ignores unknown ids, because some agents cancel every call after it has ended."""
        id = mcp.read_cancelled(params)
        task = self._open.get(id) if id is not UNSET else None
        if task is not None:
            task.cancel()


class _Progress:
    """Sends progress notifications while a call runs."""

    def __init__(self, token: int | str, peer: jsonrpc.Peer, send: Send, said: Callable[[], str]) -> None:
        self._token, self._peer, self._send, self._said = token, peer, send, said
        self._seconds = 0.0
        self._timer = asyncio.get_running_loop().call_later(timeouts.get().tool_progress, self._tick)

    def _tick(self) -> None:
        self._seconds += timeouts.get().tool_progress
        message = ", ".join(filter(None, (f"{self._seconds:g} s", self._said())))
        params = mcp.progress(self._token, self._seconds, message)
        self._send(self._peer.notification(mcp.PROGRESS, params))
        self._timer = asyncio.get_running_loop().call_later(timeouts.get().tool_progress, self._tick)

    def stop(self) -> None:
        self._timer.cancel()
