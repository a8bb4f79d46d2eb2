"""Counts the pages that have connected to this process, for the environment report.

Independent of sessions; keeps no page alive.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple


class Page(NamedTuple):
    """What a page reported about itself when it first showed a session."""

    host: str
    document: bool
    """It can reach the notebook that it is part of."""
    live: bool
    """It answers requests about that notebook."""


_seen: Counter[Page] = Counter()


def count(page: Page) -> None:
    _seen[page] += 1


def counts() -> dict[Page, int]:
    """Each kind of page, and how many have connected."""
    return dict(_seen)
