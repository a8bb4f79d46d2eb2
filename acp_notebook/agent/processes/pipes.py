"""The two directions of a pipe on an event loop: neither ever blocks it.

Knows nothing of processes: file descriptors, bytes, and the end of a stream.
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
"""What a pipe holds. More is slower: from 128 KiB on the C library maps and unmaps memory for every call
(25 µs against 1.5 µs for a short line, measured on Linux)."""

READS_AT_ONCE = 4
"""How often one callback reads while the pipe is full, before it is the turn of others on the loop."""


class ReadPipe:
    """Hands every chunk on, in order, until the end of the stream."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        file: IO[bytes],
        receive: Callable[[bytes], object],
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        self.eof = asyncio.Event()
        self._ended = ended
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
        """Take what is there now; the limit is for a writer that never stops."""
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
        """Hand on one chunk; returns its size, 0 when there is none."""
        try:
            data = os.read(self._file.fileno(), READ_BYTES)
        except BlockingIOError:
            return 0
        if data:
            self._receive(data)
        else:
            self.stop()
            self.eof.set()
            self._ended()
        return len(data)


class WritePipe:
    """Takes any amount, sends it in order as fast as the other side reads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, file: IO[bytes]) -> None:
        self.unsent = 0
        self.broken = False
        """The other side has closed its end."""
        self.unread = 0
        """Bytes of ours that certainly nobody has read, nor ever will; known once it is closed."""
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
        """Close now; what is queued is dropped."""
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
                    self._queue[0] = head[sent:]  # a view: no byte is copied
                else:
                    self._queue.popleft()
        except BlockingIOError:
            pass
        except OSError:  # EPIPE
            self.broken = True
            self.close()


def _left_behind(fd: int) -> int:
    """How many bytes a pipe still holds that nobody can read any more; 0 where that cannot be told.

    As long as anybody has the other end open, a child of the agent's perhaps, they may still be read.
    """
    looked = select.poll()
    looked.register(fd, 0)
    if not any(event & select.POLLERR for _, event in looked.poll(0)):
        return 0
    held = array.array("i", [0])
    try:
        fcntl.ioctl(fd, termios.FIONREAD, held)
    except OSError:
        return 0
    return held[0]
