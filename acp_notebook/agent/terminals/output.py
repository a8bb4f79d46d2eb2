"""What a command wrote: the newest part of it, in whole characters, for the agent and for people.

Pure: bytes in, text out. Knows neither where the bytes come from nor when anybody looks.
"""

from __future__ import annotations

import codecs

DEFAULT_BYTES = 1024 * 1024
"""Kept where the agent names no limit: more than any model reads, little enough to hold for many."""

MAX_BYTES = 8 * 1024 * 1024
"""Kept at most, whatever limit the agent names: it is the kernel's memory, and twice that for a moment."""

BATCH_CHARS = 64 * 1024
"""Shown at once at most: hundreds of lines, in a thirtieth of a second."""


def bounded(limit: int | None) -> int:
    """How many bytes are kept for an agent that asked for so many (None: it did not say)."""
    return DEFAULT_BYTES if limit is None else max(0, min(limit, MAX_BYTES))


class Output:
    """The newest `limit` bytes of a stream, as UTF-8 that is always valid.

    The limit counts what the agent gets: a byte that is no UTF-8 becomes a character of three.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = bytearray()
        self._cut = False

    def feed(self, data: bytes) -> str:
        """The characters that are complete now; half a character waits for its other half."""
        return self._keep(self._decoder.decode(data))

    def finish(self) -> str:
        """Nothing more comes: half a character is a broken one."""
        return self._keep(self._decoder.decode(b"", True))

    def text(self) -> tuple[str, bool]:
        """What is kept, and whether anything before it was cut off."""
        start = max(0, len(self._kept) - self._limit)
        cut = self._cut or start > 0
        while start < len(self._kept) and self._kept[start] & 0xC0 == 0x80:
            start += 1
        return self._kept[start:].decode(), cut

    def _keep(self, text: str) -> str:
        self._kept += text.encode()
        # At twice the limit, so that each byte is moved once at most, however small the pieces are.
        if len(self._kept) > 2 * self._limit:
            del self._kept[: len(self._kept) - self._limit]
            self._cut = True
        return text


class Batch:
    """The newest characters since somebody last took them, and how many older ones were dropped."""

    def __init__(self, limit: int = BATCH_CHARS) -> None:
        self._limit = limit
        self._pieces: list[str] = []
        self._length = 0
        self._dropped = 0

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
        if self._length > 2 * self._limit:
            self._shorten()

    def take(self) -> tuple[str, int]:
        """The text, and how many characters are missing before it."""
        self._shorten()
        taken = "".join(self._pieces), self._dropped
        self._pieces, self._length, self._dropped = [], 0, 0
        return taken

    def _shorten(self) -> None:
        excess = self._length - self._limit
        if excess > 0:
            self._pieces = ["".join(self._pieces)[excess:]]
            self._length = self._limit
            self._dropped += excess
