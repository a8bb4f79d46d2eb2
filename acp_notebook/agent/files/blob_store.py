"""Keeps file contents for undo, compressed, in one unnamed file that disappears with the process.

Independent of paths. Usable from any thread.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
import zlib

from msgspec import Struct

from ...core.changes import Version

MOST_BYTES = 2 * 2**30
"""The limit per session, compressed, so that undo does not fill the disk."""

FAST = 1
"""zlib's level: source code shrinks to a quarter at 100 MB a second."""


class Full(Exception):
    """The store has reached its limit. The message is for the user."""


class BlobRef(Struct, frozen=True):
    """A reference to a file's content in the store."""

    at: int
    stored: int
    size: int
    mode: int
    link: bool = False


class BlobStore:
    """Keeps file contents in one unnamed file; usable from any thread."""

    def __init__(self) -> None:
        self._fd: int | None = None
        self._end = 0
        self._lock = threading.Lock()

    def keep(self, version: Version) -> BlobRef:
        """Store the content. Raises Full or OSError."""
        data = zlib.compress(version.data, FAST)
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
        return BlobRef(at, len(data), len(version.data), version.mode, version.link)

    def _open(self) -> int:
        with tempfile.TemporaryFile() as file:  # never has a name, where the system supports that
            fd = os.dup(file.fileno())
        weakref.finalize(self, os.close, fd)
        return fd

    def get(self, kept: BlobRef) -> Version:
        assert self._fd is not None, "nothing was kept"
        parts: list[bytes] = []
        at, end = kept.at, kept.at + kept.stored
        while at < end:
            parts.append(os.pread(self._fd, end - at, at))
            if not parts[-1]:
                raise OSError("the stored content of the file is gone")
            at += len(parts[-1])
        return Version(zlib.decompress(b"".join(parts)), kept.mode, kept.link)
