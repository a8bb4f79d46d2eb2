"""What a connection reads and writes: the seam between messages and the outside world.

Knows nothing of JSON or of the protocol: bytes in, bytes out, and one ending. The implementations
are `process.ProcessTransport` (a child process), `memory_pair` (two ends in memory) and
`replay.ReplayTransport` (a recording). All of them live on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Receive = Callable[[bytes], None]

CLOSED = "the agent was closed"
"""The reason of an ending that is our own doing."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a transport ended: `reason` is a sentence for people."""

    reason: str
    exit_code: int | None = None
    """The exit code, negative for a signal; None while unknown or where there is no process."""
    stderr: str = ""
    """The tail of what the agent wrote to stderr."""
    mismatch: bool = False
    """A recording ended it, because what was asked of it is not what was recorded."""
    unread: int = 0
    """How many of the last bytes that were written certainly nobody has read."""
    untaken: tuple[int, ...] = ()
    """The same in a recording's words: the ids of the requests that nobody has read."""


Ended = Callable[[Ending], None]


class Transport(Protocol):
    """A byte stream in each direction. All methods are called on the loop thread."""

    def start(self, receive: Receive, ended: Ended) -> None:
        """Begin. `receive` gets every chunk in order; `ended` is called exactly once, last."""

    def write(self, data: bytes) -> None:
        """Queue bytes, in order. Never blocks, never raises; after the end it does nothing."""

    @property
    def unsent(self) -> int:
        """How many bytes are queued and not yet taken by the other side."""

    def stderr_text(self) -> str:
        """What is kept of the agent's stderr (the newest part)."""

    async def close(self) -> None:
        """End it for good and leave nothing running. Safe to call twice; ends with `ended`."""


class MemoryTransport:
    """One of two ends joined in memory; made by `memory_pair`."""

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
            # Through the loop, as from a pipe: the other side never runs inside our call.
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
    """Two transports, each the other's far end: for tests, and for agents that run in this process."""
    left, right = MemoryTransport(), MemoryTransport()
    left._peer, right._peer = right, left
    return left, right
