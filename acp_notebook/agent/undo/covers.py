"""What a checkpoint of a folder is, whoever makes it: a mark, and what became of the files between two.

Knows neither git nor a turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ...core.changes import Version


class NotCovered(Exception):
    """There is no checkpoint of this folder; says why, to people."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A folder at one moment. `state` is of whoever made it."""

    state: Any
    at: int
    """Nanoseconds since 1970, by the clock of the file system."""
    empty: frozenset[str] = frozenset()
    """Folders with nothing in them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A path that differs between two marks; `why_not`: it cannot be undone, and its states are not known."""

    path: str
    before: Version | None = None
    after: Version | None = None
    why_not: str | None = None
    action: str = "modified"
    """Where the states are not known."""
    count: int = 1
    """How many changes it stands for: a folder that is not covered is one path."""


class Cover(Protocol):
    """Makes marks of one folder. All of it blocks, but for `kill`."""

    root: str

    @property
    def notes(self) -> tuple[str, ...]:
        """What of it is not covered, as far as it is known."""

    def mark(self, *, first: bool = False) -> Mark:
        """Raises NotCovered."""

    def compare(self, before: Mark, after: Mark) -> Iterator[Found]: ...

    def reconcile(self, since: int, until: int) -> list[Found]:
        """When nobody waits: put in order what makes the next mark cheap.

        Returns what changed between these times and no mark has found. Given up when a mark is wanted.
        """

    def kill(self) -> None:
        """End what is under way; from any thread."""

    def close(self) -> None:
        """Nothing of it is used any more."""
