"""What a turn shows after a fault: its words, and whether it admits that some may be missing."""

from __future__ import annotations

import acp_notebook as acp
from acp_notebook.core.snapshot import Notice

MARK = "may be incomplete"


def numbers(turn: acp.Turn) -> list[int]:
    """The numbers of the words of the scene `words`, as they are shown."""
    return [int(word.removeprefix("w")) for word in turn.text.split()]


def is_marked(turn: acp.Turn) -> bool:
    """Whether the user can see that the text may not be all: the turn failed, or it says so."""
    if turn.status != "done":
        return True
    items = [item for item in turn.items if isinstance(item, Notice)]
    return any(MARK in f"{item.title} {item.description}" for item in items)
