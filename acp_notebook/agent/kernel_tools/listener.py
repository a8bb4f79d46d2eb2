"""The private socket of one session. A client must run as the same user and know the session's token.

Knows no MCP: passes the bytes of a connection to an `McpConnection`. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from ... import timeouts
from ...core.mcp import McpServer
from ...log import logger, suppressed
from .. import temporary_folders
from . import proxy
from .server import McpConnection, Send

_log = logger(__name__)

MAX_CONNECTIONS = 16
"""Connections of a session at a time. An agent has one, or a few while it restarts its server."""

HELLO_BYTES = 256
"""The most that is read before the token is verified."""

MAX_UNSENT = 64 * 1024 * 1024
"""How many bytes an agent may leave unread: more than the results of its 32 open calls."""

MAX_PATH = 103
"""The longest socket path in bytes: macOS accepts 103 and a final zero."""

Connect = Callable[[Send], McpConnection]
"""Creates the MCP side of an authenticated connection."""


class Unavailable(Exception):
    """The socket cannot be created. The message says why and what to do."""


class Listener:
    """Listens for the proxies of one session, from `start` to `close`."""

    def __init__(self, connect: Connect) -> None:
        self.token = secrets.token_urlsafe(32)
        self.refused = 0
        """How many connections failed to authenticate."""
        self._connect = connect
        self._folder: Path | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self._is_paused = False

    @property
    def path(self) -> str:
        return "" if self._folder is None else str(self._folder / "s")

    async def start(self) -> None:
        """Start listening. Raises Unavailable."""
        if not hasattr(socket, "AF_UNIX") or not hasattr(asyncio.get_running_loop(), "create_unix_server"):
            raise Unavailable(
                'this system has no private sockets; tools="http" opens a port on loopback instead'
            )
        self._folder = self._folder or _short_folder()
        self._is_paused = False
        self._server = await asyncio.get_running_loop().create_unix_server(
            lambda: _Connection(self), self.path, backlog=MAX_CONNECTIONS
        )
        os.chmod(self.path, 0o600)

    def pause(self) -> None:
        """Stop listening until `start`, which uses the same path and token, since the agent knows them.

        Authenticated connections stay open: several agents do not connect twice.
        """
        self._is_paused = True  # also for those who are at the door
        if self._server is not None:
            self._server.close()
            self._server = None
            with suppressed(_log, OSError):
                os.unlink(self.path)
        for connection in list(self._connections):
            if not connection.is_proved:
                connection.abort()

    def server(self, name: str) -> McpServer:
        """The MCP server entry for the agent."""
        env = {"ACP_KERNEL_SOCKET": self.path, "ACP_KERNEL_TOKEN": self.token}
        return McpServer(name=name, command=sys.executable, args=("-I", "-S", proxy.__file__), env=env)

    def close(self) -> None:
        """End all connections and invalidate the token."""
        self.token = secrets.token_urlsafe(32)
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.abort()
        if self._folder is not None:
            temporary_folders.remove(self._folder)

    # ---- used by connections ------------------------------------------------------------------

    def admits(self, connection: _Connection) -> bool:
        if len(self._connections) >= MAX_CONNECTIONS or self._is_paused:
            return False
        self._connections.add(connection)
        return True

    def accepts(self, token: bytes) -> bool:
        return hmac.compare_digest(token, self.token.encode())

    def connect(self, send: Send) -> McpConnection:
        return self._connect(send)

    def remove(self, connection: _Connection) -> None:
        self._connections.discard(connection)


class _Connection(asyncio.Protocol):
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._mcp: McpConnection | None = None
        self._hello = b""
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("socket")
        if not self._listener.admits(self) or not is_same_user(peer):
            self._refuse()
            return
        self._late = asyncio.get_running_loop().call_later(timeouts.get().tool_hello, self._refuse)

    @property
    def is_proved(self) -> bool:
        return self._mcp is not None

    def data_received(self, data: bytes) -> None:
        if self._mcp is not None:
            self._mcp.receive(data)
            return
        self._hello += data
        line, found, rest = self._hello.partition(b"\n")
        if len(line) > HELLO_BYTES or (found and not self._listener.accepts(line)):
            self._refuse()
        elif found:
            self._hello = b""
            if self._late is not None:
                self._late.cancel()
            self._mcp = self._listener.connect(self._send)
            if rest:
                self._mcp.receive(rest)

    def connection_lost(self, error: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
        self._listener.remove(self)
        if self._mcp is not None:
            self._mcp.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self) -> None:
        self._listener.refused += 1
        self.abort()

    def _send(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(data)
        if self._transport.get_write_buffer_size() > MAX_UNSENT:
            self.abort()


def is_same_user(peer: socket.socket) -> bool:
    """Whether the other end runs as this user; True if the system cannot say. The folder is private, too."""
    if hasattr(socket, "SO_PEERCRED"):
        _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return bool(uid == os.getuid())
    if hasattr(socket, "LOCAL_PEERCRED"):  # macOS: struct xucred, whose first fields are version and uid
        _, uid = struct.unpack_from("2I", peer.getsockopt(0, socket.LOCAL_PEERCRED, 76))
        return bool(uid == os.getuid())
    return True


def _short_folder() -> Path:
    """Create a private folder with a path short enough for a socket."""
    for base in (None, "/tmp"):
        folder = temporary_folders.make("acp-tools-", in_memory=base is None, base=base)
        if len(os.fsencode(folder / "s")) <= MAX_PATH:
            return folder
        temporary_folders.remove(folder)
    raise Unavailable(
        "the path of the temporary folder is too long for a socket: set TMPDIR to a shorter one"
    )
