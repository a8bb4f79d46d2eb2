"""Fit a document into a size limit: omit the oldest details first, then the oldest parts.

Independent of markup: the caller passes a function that writes a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from .blocks import Block, Fold, Line, Tool

NO_DETAILS = Line("", "… details left out here, to keep the notebook small")


class Piece:
    """A written block, with its size in bytes."""

    def __init__(self, block: Block, write: Callable[[Block], str]) -> None:
        self._block, self._write = block, write
        self._set(write(block))

    def _set(self, text: str) -> None:
        self.text, self.size = text, len(text.encode())

    def drop_details(self) -> int:
        """Keep only the heading, if that is shorter; return how many bytes it saved."""
        if not isinstance(self._block, Fold | Tool) or not self._block.blocks:
            return 0
        before, brief = self.size, self._write(replace(self._block, blocks=(NO_DETAILS,)))
        if len(brief.encode()) < before:
            self._set(brief)
        return before - self.size

    def note(self, count: int) -> str:
        """The line in place of omitted parts."""
        return self._write(Line("", f"… {count:,} earlier parts left out here, to keep the notebook small"))


def fitted(pieces: Sequence[Piece], room: int) -> str:
    """Join the pieces in `room` bytes, omitting the oldest, with a note. The note alone may exceed `room`."""
    total = sum(piece.size for piece in pieces)
    for piece in pieces:
        if total <= room:
            break
        total -= piece.drop_details()
    if total <= room or not pieces:
        return "".join(piece.text for piece in pieces)
    total += len(pieces[0].note(len(pieces)).encode())
    left_out = 0
    while total > room and left_out < len(pieces):
        total -= pieces[left_out].size
        left_out += 1
    return pieces[0].note(left_out) + "".join(piece.text for piece in pieces[left_out:])
