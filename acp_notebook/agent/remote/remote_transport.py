"""What the transports over a network have in common: a queue, a task that sends it, and one ending."""

from __future__ import annotations

import asyncio

from ..transport import Ended, Receive
from .outbox import Outbox, Outlet
from .server import Server

SLOWEST_BYTES_S = 32_000
"""A network that is slower than this is too slow for large messages."""

MOST_BUFFERED = 4 << 20
"""What the system may still have to send after everything was written: the limit of Linux."""


def time_to_arrive(size: int) -> float:
    """How many seconds a message of this size may take after it was written."""
    return min(size, MOST_BUFFERED) / SLOWEST_BYTES_S


class RemoteTransport:
    """A `Transport` to one server; a profile of the protocol implements `_run` and `close`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._out = Outbox()
        self._outlet = Outlet()
        self._task: asyncio.Task[None] | None = None
        self.stage = "opening the connection"
        """What it waits for, for the error of a start that takes too long."""

    def start(self, receive: Receive, ended: Ended) -> None:
        self._outlet.start(receive, ended)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def write(self, data: bytes) -> None:
        if not self._outlet.over:
            self._out.put(data)

    @property
    def unsent(self) -> int:
        return self._out.unsent

    def stderr_text(self) -> str:
        return ""

    async def _run(self) -> None:
        """Connect, and carry messages until the connection ends."""
        raise NotImplementedError
