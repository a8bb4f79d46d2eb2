"""The ids of a session's turns: numbered, so that equal runs give equal files.

Pure. Files name turns by their id. A session that continues one of an earlier kernel must not use an id
again, because the notebook may still have the turns of that kernel.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from .patterns import pattern
from .snapshot import Item, TurnStart

_NUMBERED = pattern(r"[a-z](\d{1,9})", re.ASCII)


class TurnIds:
    """Makes the ids: "t1", "t2", …; if the session is of an earlier kernel, "r" and a higher number."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._letter = "t"
        self._before = 0

    def next(self) -> str:
        """The id of another turn. Safe from any thread."""
        return f"{self._letter}{self._before + next(self._numbers)}"

    def continues(self, earlier: Iterable[Item]) -> None:
        """The session is of an earlier kernel, and these are turns of it."""
        self._letter = "r"
        found = (_NUMBERED.fullmatch(it.id) for it in earlier if isinstance(it, TurnStart))
        self._before = max(self._before, *(int(it[1]) for it in found if it), 0)
