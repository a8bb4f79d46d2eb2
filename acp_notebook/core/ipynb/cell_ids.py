"""Deterministic cell ids and source hashes.

A cell keeps the id from the file if it is valid and not used by an earlier cell. Any other id is derived from
the cell's type and source and the number of equal cells above it. So the same file always gives the same ids,
and inserting a different cell changes none of them.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

from ..patterns import pattern
from ..records import Json

_GOOD = pattern(r"[a-zA-Z0-9_-]{1,64}")
"""A cell id in nbformat 4.5."""

_ID_DIGITS = 12
"""The length of a derived id: short enough to read and write, long enough not to collide in one notebook."""


def is_id(value: Json) -> bool:
    return isinstance(value, str) and _GOOD.fullmatch(value) is not None


def assign_ids(ids: Sequence[Json], contents: Sequence[tuple[str, str]]) -> list[str]:
    """Give each cell a unique id; `contents` are types and sources."""
    result: list[str | None] = []
    taken: set[str] = set()
    for id in ids:
        good = is_id(id) and id not in taken
        result.append(id if good else None)
        if good:
            taken.add(id)
    if len(taken) == len(result):
        return result  # type: ignore[return-value]  # each cell has its own id
    names = CellIds(taken)
    # Cells with their own id are counted too: a copy of such a cell is the second of its kind.
    return [
        names.next(*content) if id is None else names.keep(id, *content)
        for id, content in zip(result, contents, strict=True)
    ]


class CellIds:
    """Makes unique ids for cells and remembers which are taken."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._seen: Counter[tuple[str, str]] = Counter()

    def keep(self, id: str, type: str, source: str) -> str:
        self._seen[type, source] += 1
        return id

    def claim(self, id: str, type: str, source: str) -> str:
        """Take this id if it is free, else make a new one."""
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
    """A checksum of the text that an operation on the open document is based on: its length and CRC-32.

    It detects a change and protects against nobody, so a checksum will do. The same as js/src/source_hash.ts.
    """
    data = _encoded(source)
    return f"{len(data)}-{zlib.crc32(data):08x}"


def _digest(text: str) -> str:
    return hashlib.sha256(_encoded(text)).hexdigest()


def _encoded(text: str) -> bytes:
    """UTF-8 as browsers encode it: a lone surrogate becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
