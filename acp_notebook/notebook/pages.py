"""The pages that have shown themselves to this process: what a report of the environment tells of them.

Knows nothing of sessions and keeps no page alive.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple


class Page(NamedTuple):
    """What a page said of itself when it first showed a session."""

    host: str
    document: bool
    """It can reach the notebook that it stands in."""
    live: bool
    """It answers what is asked of the notebook."""


_seen: Counter[Page] = Counter()


def seen(page: Page) -> None:
    _seen[page] += 1


def all_seen() -> dict[Page, int]:
    """Each kind of page, and how often one showed itself."""
    return dict(_seen)
