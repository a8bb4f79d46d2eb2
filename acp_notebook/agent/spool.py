"""Keeps what is seldom needed out of memory: in one unnamed file that ends with the process.

Nothing has to be removed after a crash, because the file has no name. Usable from any thread.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
import zlib

from msgspec import Struct

MOST_BYTES = 2 * 2**30
"""The limit of one spool, so that it does not fill the disk."""

FAST = 1
"""zlib's level: source code shrinks to a third at 140 MB a second."""

MOST_COMPRESSED = 8 * 2**20
"""More than this is stored as it is: the caller, often the loop thread, should not wait for the processor."""


class Full(OSError):
    """The spool has reached its limit. The message is for the user."""


class Stored(Struct, frozen=True):
    """Where something is in the spool."""

    at: int
    size: int
    compressed: bool


class Spool:
    """One unnamed file, which is created when it is first needed."""

    def __init__(self) -> None:
        self._fd: int | None = None
        self._end = 0
        self._lock = threading.Lock()

    def keep(self, data: bytes) -> Stored:
        """Store the bytes. Raises Full or another OSError."""
        compressed = len(data) <= MOST_COMPRESSED
        if compressed:
            data = zlib.compress(data, FAST)
        with self._lock:
            if self._fd is None:
                self._fd = self._open()
            if self._end + len(data) > MOST_BYTES:
                raise Full(f"there are more than {MOST_BYTES >> 30} GB of changes in this session")
            at = self._end
            left = memoryview(data)
            while left:
                done = os.pwrite(self._fd, left, self._end)
                left, self._end = left[done:], self._end + done
        return Stored(at, len(data), compressed)

    def _open(self) -> int:
        with tempfile.TemporaryFile() as file:  # never has a name, where the system supports that
            fd = os.dup(file.fileno())
        weakref.finalize(self, os.close, fd)
        return fd

    def get(self, stored: Stored) -> bytes:
        assert self._fd is not None, "nothing was kept"
        parts: list[bytes] = []
        at, end = stored.at, stored.at + stored.size
        while at < end:
            parts.append(os.pread(self._fd, end - at, at))
            if not parts[-1]:
                raise OSError("what was stored in a temporary file is gone")
            at += len(parts[-1])
        data = b"".join(parts)
        return zlib.decompress(data) if stored.compressed else data
