"""Read and write pipes on an event loop without ever blocking it.

Independent of processes: deals with file descriptors, bytes, and the end of a stream.
"""

from __future__ import annotations

import array
import asyncio
import fcntl
import os
import select
import termios
from collections import deque
from collections.abc import Callable
from typing import IO

READ_BYTES = 64 * 1024
"""The capacity of a pipe. More is slower: from 128 KiB on, the C library maps and unmaps memory for every
call (25 µs against 1.5 µs for a short line, measured on Linux)."""

READS_AT_ONCE = 4
"""How often one callback reads from a full pipe before it lets other callbacks run."""


class ReadPipe:
    """Passes on every chunk, in order, until the end of the stream."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        file: IO[bytes],
        receive: Callable[[bytes], object],
        on_eof: Callable[[], object] = lambda: None,
    ) -> None:
        self.eof = asyncio.Event()
        self._on_eof = on_eof
        self._loop = loop
        self._file = file
        self._receive = receive
        self._reading = False
        os.set_blocking(file.fileno(), False)

    def start(self) -> None:
        if not self._reading and not self._file.closed and not self.eof.is_set():
            self._reading = True
            self._loop.add_reader(self._file.fileno(), self._on_readable)

    def stop(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._file.fileno())

    def sweep(self, limit: int) -> None:
        """Read what is available now, up to a limit, in case the writer never stops."""
        while limit > 0 and (taken := self._read()):
            limit -= taken

    def close(self) -> None:
        self.stop()
        self._file.close()

    def _on_readable(self) -> None:
        for _ in range(READS_AT_ONCE):
            if self._read() < READ_BYTES or not self._reading:
                return

    def _read(self) -> int:
        """Pass on one chunk; return its size, 0 if there is none."""
        try:
            data = os.read(self._file.fileno(), READ_BYTES)
        except BlockingIOError:
            return 0
        if data:
            self._receive(data)
        else:
            self.stop()
            self.eof.set()
            self._on_eof()
        return len(data)


class WritePipe:
    """Accepts any amount of data and sends it in order, as fast as the other side reads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, file: IO[bytes]) -> None:
        self.unsent = 0
        self.broken = False
        """Whether the other side has closed its end."""
        self.unread = 0
        """Bytes that certainly were not and will not be read; known once the pipe is closed."""
        self._loop = loop
        self._file = file
        self._queue: deque[memoryview] = deque()
        self._closing = False
        os.set_blocking(file.fileno(), False)

    def write(self, data: bytes) -> None:
        if self._closing or not data:
            self.unread += len(data)
            return
        self._queue.append(memoryview(data))
        self.unsent += len(data)
        if len(self._queue) == 1:
            self._send()
            if self._queue:
                self._loop.add_writer(self._file.fileno(), self._on_writable)

    def finish(self) -> None:
        """Send what is queued, then close."""
        self._closing = True
        if not self._queue:
            self.close()

    def close(self) -> None:
        """Close now and drop what is queued."""
        self._closing = True
        if not self._file.closed:
            self.unread += self.unsent + _left_behind(self._file.fileno())
            self._loop.remove_writer(self._file.fileno())
            self._file.close()
        self._queue.clear()
        self.unsent = 0

    def _on_writable(self) -> None:
        self._send()
        if not self._queue and not self._file.closed:
            self._loop.remove_writer(self._file.fileno())
            if self._closing:
                self.close()

    def _send(self) -> None:
        try:
            while self._queue:
                head = self._queue[0]
                sent = os.write(self._file.fileno(), head)
                self.unsent -= sent
                if sent < len(head):
                    self._queue[0] = head[sent:]  # a memoryview: nothing is copied
                else:
                    self._queue.popleft()
        except BlockingIOError:
            pass
        except OSError:  # EPIPE
            self.broken = True
            self.close()


def _left_behind(fd: int) -> int:
    """How many bytes in a pipe cannot be read any more; 0 if that is unknown.

    While any process has the other end open, perhaps a child of the agent, they may still be read.
    """
    poller = select.poll()
    poller.register(fd, 0)
    if not any(event & select.POLLERR for _, event in poller.poll(0)):
        return 0
    held = array.array("i", [0])
    try:
        fcntl.ioctl(fd, termios.FIONREAD, held)
    except OSError:
        return 0
    return held[0]
