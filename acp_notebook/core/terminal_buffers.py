"""The output of terminals in a transcript: it grows at its end and is cut at its beginning.

Knows items by their keys only. What is cut is counted, so that a reader sees that something is missing.
"""

from __future__ import annotations

from collections.abc import Callable

from .events import TerminalOutput
from .patches import Append, Patch, Set

KEPT_CHARS = 1_000_000
"""Of one terminal's output: what a page can still show, and more than anybody reads."""

SLACK_CHARS = KEPT_CHARS // 2
"""What it may grow beyond that before it is cut: each cut sends all that is kept."""


class _Screen:
    def __init__(self, key: str) -> None:
        self.key = key
        self.length = 0
        self.dropped = 0


class TerminalBuffers:
    """The terminals of one transcript."""

    def __init__(self) -> None:
        self._terminal_buffers: dict[str, _Screen] = {}

    def key(self, id: str) -> str | None:
        screen = self._terminal_buffers.get(id)
        return None if screen is None else screen.key

    def opened(self, id: str, key: str) -> None:
        self._terminal_buffers[id] = _Screen(key)

    def output(self, event: TerminalOutput, text_of: Callable[[str], str]) -> list[Patch]:
        """What to change for more output; nothing, for a terminal that is not known (any more).

        `text_of` gives what an item holds so far.
        """
        screen = self._terminal_buffers.get(event.id)
        if screen is None:
            return []
        if event.whole:
            screen.dropped = 0
            return self._cut(screen, event.text, event.dropped)
        if event.dropped:
            return self._cut(screen, event.text, event.dropped + screen.length)
        if screen.length + len(event.text) > KEPT_CHARS + SLACK_CHARS:
            return self._cut(screen, text_of(screen.key) + event.text, 0)
        screen.length += len(event.text)
        return [Append(screen.key, ("output",), event.text)] if event.text else []

    def _cut(self, screen: _Screen, text: str, dropped: int) -> list[Patch]:
        """Keep the end of the text, from the beginning of a line on if there is one near."""
        start = max(0, len(text) - KEPT_CHARS)
        if start:
            newline = text.find("\n", start, start + KEPT_CHARS // 10)
            start = newline + 1 if newline >= 0 else start
        screen.length = len(text) - start
        screen.dropped += dropped + start
        return [
            Set(screen.key, ("output",), text[start:]),
            Set(screen.key, ("dropped",), screen.dropped),
        ]
