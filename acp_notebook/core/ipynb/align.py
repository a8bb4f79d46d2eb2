"""Which cell of one notebook is which of another, and in what order cells of two sides stand together.

Knows ids, contents and positions; nothing of outputs and of files. Everything is linear, but for the
longest common order, which takes n log n.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from .views import Content

Key = TypeVar("Key", bound=Hashable)


def by_key(left: Mapping[int, Key], right: Mapping[int, Key]) -> dict[int, int]:
    """Pairs of equal keys, each index at most once, the first with the first."""
    waiting: defaultdict[Key, deque[int]] = defaultdict(deque)
    for index, key in right.items():
        waiting[key].append(index)
    return {index: waiting[key].popleft() for index, key in left.items() if waiting.get(key)}


def aligned(
    left: Sequence[tuple[str | None, Content]], right: Sequence[tuple[str | None, Content]]
) -> dict[int, int]:
    """Cells of the same id; then, of those that are left, cells of the same content."""
    pairs = by_key(
        {index: id for index, (id, _) in enumerate(left) if id is not None},
        {index: id for index, (id, _) in enumerate(right) if id is not None},
    )
    taken = set(pairs.values())
    return pairs | by_key(
        {index: it for index, (_, it) in enumerate(left) if index not in pairs},
        {index: it for index, (_, it) in enumerate(right) if index not in taken},
    )


def by_gaps(pairs: Mapping[int, int], left: int, right: int, may: Iterable[int]) -> dict[int, int]:
    """More pairs: where as many cells are unpaired on both sides between two neighbours that are paired.

    Only for `may`, indexes on the right: cells without a name, that only their place tells apart.
    """
    allowed = set(may)
    backwards = {there: here for here, there in pairs.items()}
    found: dict[int, int] = {}
    here = 0
    gap: list[int] = []
    for there in range(right + 1):
        if there < right and there not in backwards:
            gap.append(there)
            continue
        end = backwards[there] if there < right else left
        between = [index for index in range(here, end) if index not in pairs]
        whole = len(between) == end - here  # no cell of the gap went elsewhere
        if gap and whole and len(between) == len(gap) and allowed.issuperset(gap):
            found.update(zip(between, gap, strict=True))
        here, gap = end + 1, []
    return found


def filled(order: Sequence[Key], others: Sequence[Key]) -> list[Key]:
    """The order, and those of the others that are not in it, each after its nearest predecessor there."""
    known = set(order)
    following: defaultdict[Key | None, list[Key]] = defaultdict(list)
    before: Key | None = None
    for other in others:
        if other in known:
            before = other
        else:
            following[before].append(other)
    result = list(following[None])
    for item in order:
        result += [item, *following[item]]
    return result


def steady(positions: Sequence[int], fixed: int | None = None) -> set[int]:
    """Indexes of a longest run of rising positions: those who need not move when the others do.

    With `fixed`, the longest one that this index is part of.
    """
    if fixed is None:
        return set(_rising(list(enumerate(positions))))
    pivot = positions[fixed]
    below = [(at, it) for at, it in enumerate(positions[:fixed]) if it < pivot]
    above = [(at, it) for at, it in enumerate(positions) if at > fixed and it > pivot]
    return {*_rising(below), fixed, *_rising(above)}


def _rising(items: Sequence[tuple[int, int]]) -> list[int]:
    tails: list[int] = []
    ends: list[int] = []
    before: list[int | None] = []
    for number, (_, position) in enumerate(items):
        length = bisect_left(tails, position)
        before.append(ends[length - 1] if length else None)
        tails[length : length + 1] = [position]
        ends[length : length + 1] = [number]
    result: list[int] = []
    at = ends[-1] if ends else None
    while at is not None:
        result.append(items[at][0])
        at = before[at]
    return result[::-1]
