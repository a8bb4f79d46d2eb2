"""Keep the newest part of a command's output, in whole characters, for the agent and for people.

Pure: bytes in, text out.
"""

from __future__ import annotations

import codecs

DEFAULT_BYTES = 1024 * 1024
"""The limit if the agent names none: more than any model reads, and little enough for many terminals."""

MAX_BYTES = 8 * 1024 * 1024
"""The highest limit that an agent can get: this is kernel memory, and may briefly take twice as much."""

BATCH_CHARS = 64 * 1024
"""The most that is shown at once: hundreds of lines every thirtieth of a second."""


def bounded(limit: int | None) -> int:
    """How many bytes to keep for an agent that asked for this limit (None: it named none)."""
    return DEFAULT_BYTES if limit is None else max(0, min(limit, MAX_BYTES))


class OutputTail:
    """Keeps the newest `limit` bytes of a stream, as valid UTF-8.

    The limit counts the bytes that the agent gets: an invalid byte becomes a character of three bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = bytearray()
        self._cut = False

    def feed(self, data: bytes) -> str:
        """Add bytes; return the characters that they complete. A partial character waits for the rest."""
        return self._keep(self._decoder.decode(data))

    def finish(self) -> str:
        """End the stream; return a replacement character if it ends in a partial one."""
        return self._keep(self._decoder.decode(b"", True))

    def text(self) -> tuple[str, bool]:
        """The kept text, and whether anything before it was dropped."""
        start = max(0, len(self._kept) - self._limit)
        cut = self._cut or start > 0
        while start < len(self._kept) and self._kept[start] & 0xC0 == 0x80:
            start += 1
        return self._kept[start:].decode(), cut

    def _keep(self, text: str) -> str:
        self._kept += text.encode()
        # Trim at twice the limit, so that each byte is moved at most once, however small the pieces are.
        if len(self._kept) > 2 * self._limit:
            del self._kept[: len(self._kept) - self._limit]
            self._cut = True
        return text


class Batch:
    """Collects the newest characters since the last `take`, and counts the older ones that it dropped."""

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
        """Return and clear the text, with the number of characters dropped before it."""
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
