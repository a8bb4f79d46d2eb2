"""Replaces the paths of one machine by those of another: in texts, in JSON, and in texts split into pieces.

Knows no protocol and no disk. Only whole paths match: /a/b does not occur in /x/a/b, /a/bc or /a/b.txt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

_BEFORE = r"(?<![\w.~\\-])(?<![\w.~\\-]/)"
"""What must not precede a path; "file://" may."""
_AFTER = r"(?![\w@+~-]|\.\w)"


class PathMapping:
    """Maps recorded folders to the folders used instead of them; the longest match wins."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        pairs: dict[str, str] = {}
        for there, here in folders.items():
            if len(there.rstrip("/")) > 1:  # the root would match every path
                for spell in (_plain, _uri, _escaped):
                    pairs.setdefault(spell(there.rstrip("/")), spell(here.rstrip("/")))
        self._pairs = {there: here for there, here in pairs.items() if there != here}
        names = "|".join(re.escape(it) for it in sorted(pairs, key=lambda it: (-len(it), it)))
        self._pattern = re.compile(rf"{_BEFORE}(?:{names})(?=/|{_AFTER})") if self._pairs else None

    @property
    def moves(self) -> bool:
        """Whether any folder is mapped to a different one."""
        return self._pattern is not None

    def text(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(self._here, text)

    def value(self, value: Any) -> Any:
        """Map every text in plain JSON, names included: some agents use paths as names."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(name): self.value(item) for name, item in value.items()}
        return value

    def pieces(self, pieces: Sequence[str]) -> list[str]:
        """Map a text split into pieces; a replaced path goes into the piece in which it starts."""
        if self._pattern is None:
            return list(pieces)
        return _replaced(pieces, ((it.start(), it.end(), self._here(it)) for it in self._matches(pieces)))

    def _matches(self, pieces: Sequence[str]) -> Iterable[re.Match[str]]:
        assert self._pattern is not None
        return self._pattern.finditer("".join(pieces))

    def _here(self, match: re.Match[str]) -> str:
        return self._pairs.get(match[0], match[0])


def _replaced(pieces: Sequence[str], changes: Iterable[tuple[int, int, str]]) -> list[str]:
    """Replace parts of the joined text in the pieces; `changes` are in order."""
    result: list[list[str]] = [[] for _ in pieces]
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece))
    index = at = 0

    def copy_to(end: int) -> None:
        nonlocal index, at
        while at < end:
            stop = min(end, starts[index + 1])
            result[index].append(pieces[index][at - starts[index] : stop - starts[index]])
            at = stop
            skip()

    def skip() -> None:
        nonlocal index
        while index + 1 < len(pieces) and at >= starts[index + 1]:
            index += 1

    skip()
    for start, end, here in changes:
        copy_to(start)
        result[index].append(here)
        at = end
        skip()
    copy_to(starts[-1])
    return ["".join(parts) for parts in result]


def _plain(path: str) -> str:
    return path


def _uri(path: str) -> str:
    return quote(path, errors="replace")


def _escaped(path: str) -> str:
    """The path as escaped in JSON."""
    return json.dumps(path)[1:-1]
