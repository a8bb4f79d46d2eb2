"""The output of terminals in a transcript: it grows at the end and is truncated at the start.

Knows items by their keys only. Dropped characters are counted, so that readers see that some are missing.
"""

from __future__ import annotations

from collections.abc import Callable

from .events import TerminalOutput
from .patches import Append, Patch, Set

KEPT_CHARS = 1_000_000
"""Characters of output kept per terminal: a page can still show them, and nobody reads more."""

SLACK_CHARS = KEPT_CHARS // 2
"""How far the output may exceed that before it is cut: each cut sends everything that is kept."""


class _Buffer:
    def __init__(self, key: str) -> None:
        self.key = key
        self.length = 0
        self.dropped = 0


class TerminalBuffers:
    """Tracks how much output each terminal of a transcript holds, and cuts it when it gets too long."""

    def __init__(self) -> None:
        self._buffers: dict[str, _Buffer] = {}

    def key(self, id: str) -> str | None:
        buffer = self._buffers.get(id)
        return None if buffer is None else buffer.key

    def open(self, id: str, key: str) -> None:
        self._buffers[id] = _Buffer(key)

    def output(self, event: TerminalOutput, text_of: Callable[[str], str]) -> list[Patch]:
        """Return the patches for more output; none if the terminal is unknown.

        `text_of` returns the output that an item holds so far.
        """
        buffer = self._buffers.get(event.id)
        if buffer is None:
            return []
        if event.whole:
            buffer.dropped = 0
            return self._cut(buffer, event.text, event.dropped)
        if event.dropped:
            return self._cut(buffer, event.text, event.dropped + buffer.length)
        if buffer.length + len(event.text) > KEPT_CHARS + SLACK_CHARS:
            return self._cut(buffer, text_of(buffer.key) + event.text, 0)
        buffer.length += len(event.text)
        return [Append(buffer.key, ("output",), event.text)] if event.text else []

    def _cut(self, buffer: _Buffer, text: str, dropped: int) -> list[Patch]:
        """Keep the end of the text, starting at a line if one starts nearby."""
        start = max(0, len(text) - KEPT_CHARS)
        if start:
            newline = text.find("\n", start, start + KEPT_CHARS // 10)
            start = newline + 1 if newline >= 0 else start
        buffer.length = len(text) - start
        buffer.dropped += dropped + start
        return [
            Set(buffer.key, ("output",), text[start:]),
            Set(buffer.key, ("dropped",), buffer.dropped),
        ]
