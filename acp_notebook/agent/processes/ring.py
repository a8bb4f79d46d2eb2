"""A ring buffer for the newest part of what an agent wrote to stderr."""

from __future__ import annotations

import codecs
import threading

KEPT_BYTES = 256 * 1024
"""Thousands of log lines, enough for any bug report; agents write megabytes a day."""

TAIL_BYTES = 4096
"""As much as fits below an error message without hiding it."""


class Ring:
    """Keeps the newest bytes; one thread writes, any thread may read."""

    def __init__(self, kept: int = KEPT_BYTES) -> None:
        self._kept = kept
        self._bytes = bytearray()
        self._cut = False
        self._lock = threading.Lock()

    def append(self, data: bytes) -> None:
        with self._lock:
            self._bytes += data
            # Trim at twice the limit, so that each byte is moved at most once, however small the pieces are.
            if len(self._bytes) > 2 * self._kept:
                del self._bytes[: -self._kept]
                self._cut = True

    def text(self) -> str:
        """Everything that is kept."""
        return _decode(*self._newest(self._kept))

    def tail(self, size: int = TAIL_BYTES) -> str:
        """The last lines; only a line that is longer than `size` is cut."""
        data, cut = self._newest(size)
        _part, newline, lines = data.partition(b"\n")
        return _decode(lines, False) if cut and newline and lines else _decode(data, cut)

    def _newest(self, size: int) -> tuple[bytes, bool]:
        with self._lock:
            return bytes(self._bytes[-size:]), self._cut or len(self._bytes) > size


def _decode(data: bytes, cut: bool) -> str:
    """Decode UTF-8, without partial characters at the ends if the data was cut."""
    if cut:
        half = next((at for at, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
        data = data[half:]
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data)
