"""The byte stream below a connection: bytes in, bytes out, and one ending.

The implementations are `processes.process_transport` (a child process), `remote` (a server, over WebSocket or
HTTP), `memory_pair` (two ends in memory) and `recordings.replay` (a recording). They run on the loop thread,
and know neither JSON nor the protocol, except that HTTP carries each session on its own stream. `Reach` is
what a kind of transport means for the parts above it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

Receive = Callable[[bytes], None]

CLOSED = "the agent was closed"
"""The reason of an ending that the client caused."""


class Ending(Struct, frozen=True):
    """Why a transport ended. `reason`: a sentence for the user."""

    reason: str
    exit_code: int | None = None
    """The exit code, negative for a signal; None if unknown or if there is no process."""
    stderr: str = ""
    """The end of the agent's stderr."""
    error: Exception | None = None
    """The error of open requests; None means that the agent died."""
    unread: int = 0
    """How many of the last written bytes the agent certainly has not read."""
    is_lost: bool = False
    """Whether the connection to a remote agent was lost, which itself may still be running."""
    may_pass: bool = False
    """Whether another connection may succeed without the user doing anything."""


class Interrupted(Struct, frozen=True):
    """The transport is trying to reach a remote agent again. `reason`: a sentence for the user."""

    reason: str


class Restored(Struct, frozen=True):
    """The transport reaches the agent again."""


class MessagesLost(Struct, frozen=True):
    """Messages of this session may be lost, from now on or already. The turn that runs may miss them."""

    session: str
    earlier: bool = False
    """Whether the turn before, which is over, may miss them, too."""


class Silent(Struct, frozen=True):
    """Nothing has come for this session for so long that messages of it may be lost, or the agent thinks."""

    session: str


LinkChange = Interrupted | MessagesLost | Restored | Silent


class Reach(Struct, frozen=True):
    """What a kind of transport declares to everything above it, which knows no kinds."""

    is_ours: bool = True
    """Whether we start the agent and end it: it has a process, arguments, stderr, and can be restarted."""
    is_local: bool = True
    """Whether paths of the agent are paths of this machine."""
    wire: str = "stdio"

    @property
    def gone(self) -> str:
        """The status of a session whose agent is gone."""
        return "dead" if self.is_ours else "disconnected"

    @property
    def returning(self) -> str:
        """The status of a session whose agent comes back."""
        return "restarting" if self.is_ours else "reconnecting"


LOCAL = Reach()

Ended = Callable[[Ending], None]


class Transport(Protocol):
    """A byte stream in each direction. All methods are called on the loop thread."""

    def start(self, receive: Receive, ended: Ended) -> None:
        """Start. `receive` gets every chunk in order; `ended` is called exactly once, last."""

    def write(self, data: bytes) -> None:
        """Queue bytes in order. Never blocks and never raises; does nothing after the end."""

    @property
    def unsent(self) -> int:
        """How many bytes are queued and not yet read by the other side."""

    def stderr_text(self) -> str:
        """The newest part of the agent's stderr."""

    async def close(self) -> None:
        """End the transport and everything it started, then call `ended`. Safe to call twice."""


class MemoryTransport:
    """One of two connected ends in memory; created by `memory_pair`."""

    def __init__(self) -> None:
        self._peer: MemoryTransport | None = None
        self._receive: Receive | None = None
        self._ended: Ended | None = None
        self._early: list[bytes] = []
        self._over = False

    def start(self, receive: Receive, ended: Ended) -> None:
        self._receive, self._ended = receive, ended
        self._flush()

    def write(self, data: bytes) -> None:
        if self._peer is not None and not self._over:
            # Through the loop, as from a pipe: the other side must not run inside this call.
            asyncio.get_running_loop().call_soon(self._peer._arrive, data)

    @property
    def unsent(self) -> int:
        return sum(map(len, self._peer._early)) if self._peer is not None else 0

    def stderr_text(self) -> str:
        return ""

    async def close(self) -> None:
        peer = self._peer
        self._end(CLOSED)
        if peer is not None:
            peer._end("the agent closed the connection")

    def _arrive(self, data: bytes) -> None:
        if self._over:
            return
        self._early.append(data)
        self._flush()

    def _flush(self) -> None:
        while self._early and self._receive is not None and not self._over:
            self._receive(self._early.pop(0))

    def _end(self, reason: str) -> None:
        if self._over:
            return
        self._over = True
        if self._ended is not None:
            self._ended(Ending(reason))


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Create two connected transports, for tests and for agents that run in this process."""
    left, right = MemoryTransport(), MemoryTransport()
    left._peer, right._peer = right, left
    return left, right
