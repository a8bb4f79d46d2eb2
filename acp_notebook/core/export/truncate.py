"""A document that must not grow over a size: the oldest details give way first, then the oldest parts.

Knows no markup but what it is handed: a function that writes a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .blocks import Block, Fold, Line, Tool

NO_DETAILS = Line("", "… details left out here, to keep the notebook small")


class Piece:
    """A block as it is written, with its size in bytes."""

    def __init__(self, block: Block, write: Callable[[Block], str]) -> None:
        self._block, self._write = block, write
        self._set(write(block))

    def _set(self, text: str) -> None:
        self.text, self.size = text, len(text.encode())

    def without_details(self) -> int:
        """Leave only the heading, if that is shorter; how many bytes it saved."""
        if not isinstance(self._block, Fold | Tool) or not self._block.blocks:
            return 0
        before, brief = self.size, self._write(replace(self._block, blocks=(NO_DETAILS,)))
        if len(brief.encode()) < before:
            self._set(brief)
        return before - self.size

    def note(self, count: int) -> str:
        """The line that stands for parts that are left out."""
        return self._write(Line("", f"… {count:,} earlier parts left out here, to keep the notebook small"))


def fitted(pieces: Sequence[Piece], room: int) -> str:
    """The pieces in `room` bytes: cut from the oldest on, and said so. A note alone may be over it."""
    total = sum(piece.size for piece in pieces)
    for piece in pieces:
        if total <= room:
            break
        total -= piece.without_details()
    if total <= room or not pieces:
        return "".join(piece.text for piece in pieces)
    total += len(pieces[0].note(len(pieces)).encode())
    left_out = 0
    while total > room and left_out < len(pieces):
        total -= pieces[left_out].size
        left_out += 1
    return pieces[0].note(left_out) + "".join(piece.text for piece in pieces[left_out:])
