"""Match the cells of two notebooks, and combine their orders.

Uses ids, contents and positions only. Everything takes linear time, except the longest increasing
subsequence, which takes n log n.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from .views import Content

Key = TypeVar("Key", bound=Hashable)


def pair_by_key(left: Mapping[int, Key], right: Mapping[int, Key]) -> dict[int, int]:
    """Pair the indexes of equal keys, in order, each index at most once."""
    only = {key: index for index, key in right.items()}
    if len(only) == len(right):  # no two keys are equal, as is usual
        return {index: only.pop(key) for index, key in left.items() if key in only}
    waiting: defaultdict[Key, deque[int]] = defaultdict(deque)
    for index, key in right.items():
        waiting[key].append(index)
    return {index: waiting[key].popleft() for index, key in left.items() if waiting.get(key)}


def pair_cells(
    left: Sequence[tuple[str | None, Content]], right: Sequence[tuple[str | None, Content]]
) -> dict[int, int]:
    """Pair cells with the same id; then, of the rest, cells with the same content."""
    pairs = pair_by_key(
        {index: id for index, (id, _) in enumerate(left) if id is not None},
        {index: id for index, (id, _) in enumerate(right) if id is not None},
    )
    taken = set(pairs.values())
    return pairs | pair_by_key(
        {index: it for index, (_, it) in enumerate(left) if index not in pairs},
        {index: it for index, (_, it) in enumerate(right) if index not in taken},
    )


def pair_by_gaps(pairs: Mapping[int, int], left: int, right: int, may: Iterable[int]) -> dict[int, int]:
    """Find more pairs: gaps between two paired neighbours with equally many unpaired cells on both sides.

    Only pairs the indexes on the right that are in `may`: cells without an id, known by position only.
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
        whole = len(between) == end - here  # no cell of the gap is paired elsewhere
        if gap and whole and len(between) == len(gap) and allowed.issuperset(gap):
            found.update(zip(between, gap, strict=True))
        here, gap = end + 1, []
    return found


def with_missing(order: Sequence[Key], others: Sequence[Key]) -> list[Key]:
    """Insert into the order the `others` that it lacks, each after its nearest predecessor in `others`."""
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
