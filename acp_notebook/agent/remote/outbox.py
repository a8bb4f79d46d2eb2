"""The messages that a remote transport still has to send, in order, and the one ending that it reports."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from ..transport import Ended, Ending, Receive
from .failures import Failure


class Outbox:
    """Queues whole messages for a sender task, and knows what certainly was not sent."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._partial = b""
        self._size = 0
        self._started = 0
        self._wake = asyncio.Event()

    def put(self, data: bytes) -> None:
        *whole, self._partial = (self._partial + data).split(b"\n")
        for line in whole:
            self._lines.append(line)
            self._size += len(line) + 1
        self._wake.set()

    @property
    def unsent(self) -> int:
        """The bytes of the messages that were not sent completely."""
        return self._size + len(self._partial)

    @property
    def untouched(self) -> int:
        """The bytes of the messages that were not even begun: the server certainly has not got them."""
        return self.unsent - self._started

    async def next(self) -> bytes:
        """Wait for the next message. It stays in the queue until `sent`."""
        while not self._lines:
            self._wake.clear()
            await self._wake.wait()
        return self._lines[0]

    async def take(self, choose: Callable[[Sequence[bytes]], int | None]) -> bytes:
        """Wait until `choose` finds a message behind the first one, and take it out of the queue.

        Only for whoever has the first message and waits before it is sent."""
        while (line := self.take_now(choose)) is None:
            self._wake.clear()
            await self._wake.wait()
        return line

    def take_now(self, choose: Callable[[Sequence[bytes]], int | None]) -> bytes | None:
        """The same, or None if there is no such message at the moment."""
        if (at := choose(self._lines)) is None:
            return None
        line = self._lines[at]
        self._size -= len(line) + 1
        del self._lines[at]
        return line

    def put_back(self, line: bytes) -> None:
        """Queue a message that was taken out again, behind the first one."""
        self._lines.insert(1, line)
        self._size += len(line) + 1

    def begin(self) -> None:
        """From now on, the server may get the first message."""
        self._started = len(self._lines[0]) + 1

    def refused(self) -> None:
        """The server certainly has not taken the first message."""
        self._started = 0

    def sent(self) -> None:
        self._size -= len(self._lines.popleft()) + 1
        self._started = 0


MAX_BATCH = 256 * 1024
"""So many bytes are passed on at once, without waiting for more."""


class Outlet:
    """Passes on what a transport receives, and its ending, once and last.

    Messages that were read from the network together are passed on together, which costs less for each."""

    def __init__(self) -> None:
        self.over = False
        self._waiting: list[bytes] = []
        self._size = 0
        self._receive: Receive | None = None
        self._ended: Ended | None = None

    def start(self, receive: Receive, ended: Ended) -> None:
        self._receive, self._ended = receive, ended

    def receive(self, message: bytes) -> None:
        """Pass on one message, which contains no line break, when the loop has nothing more of this read."""
        if self.over or self._receive is None:
            return
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting.append(message)
        self._size += len(message)
        if self._size > MAX_BATCH:
            self.flush()

    def flush(self) -> None:
        """Pass on what is waiting, before anything else is reported."""
        if self._waiting and self._receive is not None:
            messages, self._waiting, self._size = self._waiting, [], 0
            self._receive(b"\n".join(messages) + b"\n")

    def end(self, failure: Failure, unread: int) -> None:
        self._end(Ending(failure.reason, unread=unread, is_lost=True, may_pass=failure.is_passing))

    def close(self, reason: str) -> None:
        """End because the client wants to."""
        self._end(Ending(reason))

    def _end(self, ending: Ending) -> None:
        self.flush()
        if not self.over:
            self.over = True
            if self._ended is not None:
                self._ended(ending)


def one_line(message: bytes) -> bytes:
    """The message without line breaks, which JSON allows only between tokens."""
    if b"\n" in message or b"\r" in message:
        return message.replace(b"\r", b" ").replace(b"\n", b" ")
    return message
