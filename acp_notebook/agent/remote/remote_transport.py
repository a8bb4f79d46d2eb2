"""What the transports over a network have in common: a queue, a task that sends it, and one ending."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ... import timeouts
from ...log import logger
from ..transport import Ended, Receive
from .outbox import Outbox, Outlet
from .server import Server

SLOWEST_BYTES_S = 32_000
"""A network that is slower than this is too slow for large messages."""

MOST_BUFFERED = 4 << 20
"""What the system may still have to send after everything was written: the limit of Linux."""


CANCELLED_AT_MOST = 5

_log = logger(__name__)


async def end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel these tasks, and wait for their end.

    A library may lose a cancellation that comes while it cancels something itself, as anyio does when it has
    connected to one of several addresses; so they are cancelled again if they go on."""
    pending = {it for it in tasks if not it.done()}
    for _ in range(CANCELLED_AT_MOST):
        for task in pending:
            task.cancel()
        if not pending:
            return
        _, pending = await asyncio.wait(pending, timeout=timeouts.get().remote_close)
    if pending:
        _log.warning("%d tasks of a connection could not be ended", len(pending))


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
        self.stage = (
            "waiting for your function for headers=" if server.calls_functions else "opening the connection"
        )
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
