"""The longest increasing subsequence: which items of a reordered list can stay in place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def longest_increasing(positions: Sequence[int], fixed: int | None = None) -> set[int]:
    """The indexes of a longest increasing subsequence: the items that can stay while the others move.

    With `fixed`, the subsequence includes this index.
    """
    if fixed is None:
        return set(_longest_increasing(list(enumerate(positions))))
    pivot = positions[fixed]
    below = [(at, it) for at, it in enumerate(positions[:fixed]) if it < pivot]
    above = [(at, it) for at, it in enumerate(positions) if at > fixed and it > pivot]
    return {*_longest_increasing(below), fixed, *_longest_increasing(above)}


def _longest_increasing(items: Sequence[tuple[int, int]]) -> list[int]:
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
