"""One server for all sessions of an agent that offers the servers of each session to all of them.

Passes each call to the session whose tool call makes it, so that the right permissions apply and the right
card shows it. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...core.records import Text
from ...core.snapshot import ToolCall
from ...wire.mcp import ToolRequest
from . import catalog
from .http import HttpListener
from .listener import Connect, Listener
from .server import McpConnection, Result, Send, Tools

UNKNOWN = "Not done: it is not known which conversation makes this call. Try again, one call at a time."


class Member(Protocol):
    """The tools of one session."""

    @property
    def tools(self) -> Tools: ...

    @property
    def is_in_turn(self) -> bool: ...

    async def own_call(self, request: ToolRequest) -> ToolCall | None:
        """The session's tool call that makes this MCP call. Waits a moment for it."""


class SharedTools:
    """Serves the kernel tools to the sessions of one agent; listens while it has members."""

    instructions = catalog.INSTRUCTIONS

    def __init__(self, name: str, listen: Callable[[Connect], Listener | HttpListener]) -> None:
        self.name = name
        """The name of the server, the same in all sessions."""
        self._listen = listen
        self._members: list[Member] = []
        self._connections: set[McpConnection] = set()
        self._listener: Listener | HttpListener | None = None
        self._starting = asyncio.Lock()

    async def join(self, member: Member) -> Listener | HttpListener:
        """Add a session and listen for it. Raises Unavailable."""
        async with self._starting:
            listener = self._listener
            if listener is None:
                listener = self._listen(self._connected)
                await listener.start()
                self._listener = listener
            if member not in self._members:
                self._members.append(member)
            return listener

    def leave(self, member: Member) -> None:
        if member in self._members:
            self._members.remove(member)
        if not self._members and self._listener is not None:
            self._listener.close()
            self._listener = None

    def _connected(self, send: Send) -> McpConnection:
        connection = McpConnection(self, send, on_closed=self._connections.discard)
        self._connections.add(connection)
        return connection

    def tools_changed(self) -> None:
        for connection in self._connections:
            connection.tools_changed()

    def listed(self) -> list[dict[str, Any]]:
        """The tools of all members: functions may be registered for some of them only."""
        found = (it for member in self._members for it in member.tools.listed())
        return list({it["name"]: it for it in found}.values())

    async def call(self, request: ToolRequest) -> Result:
        member = await self._member(request)
        return Result((Text(UNKNOWN),), failed=True) if member is None else await member.tools.call(request)

    def progress(self, task: asyncio.Task[Any] | None) -> str:
        return next(filter(None, (it.tools.progress(task) for it in self._members)), "")

    async def _member(self, request: ToolRequest) -> Member | None:
        members = tuple(self._members)
        if len(members) == 1:
            return members[0]
        if (found := await _first_with_call(members, request)) is not None:
            return found
        active = [it for it in members if it.is_in_turn]
        return active[0] if len(active) == 1 else None


async def _first_with_call(members: Sequence[Member], request: ToolRequest) -> Member | None:
    looks = {asyncio.ensure_future(it.own_call(request)): it for it in members}
    try:
        pending = set(looks)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for look in done:
                if look.result() is not None:
                    return looks[look]
        return None
    finally:
        for look in looks:
            look.cancel()
