"""What a checkpoint of a folder is, and what a backend does that makes them. Knows neither git nor turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ...core.changes import Version


class CheckpointUnavailable(Exception):
    """There is no checkpoint of this folder; the text says why, to the user."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder at one moment. Only the backend that made it understands `state`."""

    state: Any
    empty: frozenset[str] = frozenset()
    """Folders with nothing in them."""


@dataclass(frozen=True, slots=True)
class PathChange:
    """A path that differs between two checkpoints. `why_not`: its states are unknown, it cannot be undone."""

    path: str
    before: Version | None = None
    after: Version | None = None
    why_not: str | None = None
    action: str = "modified"
    """Used where the states are unknown."""
    during: str | None = None
    """In a replay: the id of the command that it is recorded under; "": none; None: it is not recorded."""


class CheckpointBackend(Protocol):
    """Makes checkpoints of one folder. Everything but `kill` blocks."""

    root: str

    @property
    def notes(self) -> tuple[str, ...]:
        """What the last checkpoint does not cover."""

    @property
    def description(self) -> str:
        """How it makes them, for `doctor()`."""

    def mark(self) -> Checkpoint:
        """The folder now; raises CheckpointUnavailable."""

    def compare(self, before: Checkpoint, after: Checkpoint) -> Iterator[PathChange]:
        """Every path that differs; raises CheckpointUnavailable."""

    def kill(self) -> None:
        """End what is running; from any thread."""

    def close(self) -> None:
        """Release what it holds."""
