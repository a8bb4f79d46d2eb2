"""Selections of combinations: every pair of values, or every value once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

Combination = tuple[str, ...]


def pairwise(parameters: Sequence[Sequence[str]]) -> list[Combination]:
    """Always the same selection for the same parameters: each time the combination with most new pairs."""
    every = list(product(*parameters))
    missing = set().union(*map(_pairs, every))
    chosen: list[Combination] = []
    while missing:
        best = max(every, key=lambda it: len(_pairs(it) & missing))
        chosen.append(best)
        missing -= _pairs(best)
    return chosen


def each_once(parameters: Sequence[Sequence[str]]) -> list[Combination]:
    """A smaller one, in which every value is there at least once."""
    most = max(map(len, parameters))
    return [tuple(values[at % len(values)] for values in parameters) for at in range(most)]


def _pairs(combination: Combination) -> set[tuple[tuple[int, str], ...]]:
    return set(combinations(enumerate(combination), 2))
