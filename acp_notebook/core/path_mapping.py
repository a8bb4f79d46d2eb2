"""Paths of one place, put into the words of another: in texts, in JSON, in texts that come in pieces.

Knows no protocol and no disk. A path is only found whole: /a/b is not in /x/a/b, in /a/bc or in /a/b.txt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

_BEFORE = r"(?<![\w.~\\-])(?<![\w.~\\-]/)"
"""What may not stand before a path; "file://" may."""
_AFTER = r"(?![\w@+~-]|\.\w)"


class PathMapping:
    """From recorded folders to those that stand for them here; the longest that fits is taken."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        pairs: dict[str, str] = {}
        for there, here in folders.items():
            if len(there.rstrip("/")) > 1:  # the root is in every path
                for spell in (_plain, _uri, _escaped):
                    pairs.setdefault(spell(there.rstrip("/")), spell(here.rstrip("/")))
        self._pairs = {there: here for there, here in pairs.items() if there != here}
        names = "|".join(re.escape(it) for it in sorted(pairs, key=lambda it: (-len(it), it)))
        self._pattern = re.compile(rf"{_BEFORE}(?:{names})(?=/|{_AFTER})") if self._pairs else None

    @property
    def moves(self) -> bool:
        """Whether anything is somewhere else."""
        return self._pattern is not None

    def text(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(self._here, text)

    def value(self, value: Any) -> Any:
        """The same for every text in a plain JSON value, and for names: some agents list files by them."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(name): self.value(item) for name, item in value.items()}
        return value

    def pieces(self, pieces: Sequence[str]) -> list[str]:
        """Of a text that came in pieces: what stands for a path is in the piece in which the path began."""
        if self._pattern is None:
            return list(pieces)
        return _replaced(pieces, ((it.start(), it.end(), self._here(it)) for it in self._matches(pieces)))

    def _matches(self, pieces: Sequence[str]) -> Iterable[re.Match[str]]:
        assert self._pattern is not None
        return self._pattern.finditer("".join(pieces))

    def _here(self, match: re.Match[str]) -> str:
        return self._pairs.get(match[0], match[0])


def _replaced(pieces: Sequence[str], changes: Iterable[tuple[int, int, str]]) -> list[str]:
    """The pieces, with parts of the text that they make replaced; `changes` come in order."""
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
    """As JSON in a text has it."""
    return json.dumps(path)[1:-1]
