"""Ids of cells, and the hash of a source: the same content always has the same.

A file's own id is taken where it is good and comes first; every other cell is named by its type and
source, and by how many such cells stand before it. So the same file gives the same ids again, and a
cell that is put in elsewhere changes no name.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ..records import Json

_GOOD = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""nbformat 4.5: a cell's id."""

_ID_DIGITS = 12
"""Of a made-up id: short enough to read and write, long enough not to meet by chance in one notebook."""

_HASH_DIGITS = 32


def is_id(value: Json) -> bool:
    return isinstance(value, str) and _GOOD.fullmatch(value) is not None


def named(ids: Sequence[Json], contents: Sequence[tuple[str, str]]) -> list[str]:
    """An id for each cell, none of them twice; `contents` are types and sources."""
    result: list[str | None] = []
    taken: set[str] = set()
    for id in ids:
        good = is_id(id) and id not in taken
        result.append(id if good else None)
        if good:
            taken.add(id)
    names = CellIds(taken)
    # Those with an id of their own are counted too: a copy of such a cell is the second of its kind.
    return [
        names.next(*content) if id is None else names.noted(id, *content)
        for id, content in zip(result, contents, strict=True)
    ]


class CellIds:
    """Makes ids for cells, none of which is taken; each is taken from then on."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._seen: Counter[tuple[str, str]] = Counter()

    def noted(self, id: str, type: str, source: str) -> str:
        self._seen[type, source] += 1
        return id

    def free(self, id: str, type: str, source: str) -> str:
        """That id, if it is not taken."""
        if id in self._taken:
            return self.next(type, source)
        self._taken.add(id)
        return id

    def next(self, type: str, source: str) -> str:
        self._seen[type, source] += 1
        for name in _candidates(type, source, self._seen[type, source]):
            if name not in self._taken:
                self._taken.add(name)
                return name
        raise AssertionError("there is always another candidate")


def _candidates(type: str, source: str, number: int) -> Iterator[str]:
    digest = _digest(f"{type}\n{source}")[:_ID_DIGITS]
    while True:
        yield digest if number == 1 else f"{digest}-{number}"
        number += 1


def source_hash(source: str) -> str:
    """What an operation on the open document is based on: SHA-256 of the UTF-8 text, its first half.

    Half a surrogate pair counts as U+FFFD, as browsers encode it.
    """
    return _digest(source)[:_HASH_DIGITS]


def _digest(text: str) -> str:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return hashlib.sha256(whole.encode()).hexdigest()
