"""Checkpoints of a folder, and the interface of the backends that make them. Knows neither git nor turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import Struct

from ...core.changes import PathChange

SAVING = ".~"
"""The start of the names of copies that Jupyter keeps next to a file while it saves it."""


class CheckpointUnavailable(Exception):
    """A folder has no checkpoint. The message tells the user why."""


class Checkpoint(Struct, frozen=True):
    """The state of a folder at one moment. Only the backend that made it understands `state`."""

    state: Any
    empty: frozenset[str] = frozenset()
    """Empty folders."""


class CheckpointBackend(Protocol):
    """Makes checkpoints of one folder. Everything but `kill` blocks."""

    root: str

    @property
    def notes(self) -> tuple[str, ...]:
        """What the last checkpoint does not cover."""

    @property
    def description(self) -> str:
        """How the backend makes checkpoints, for `doctor()`."""

    def mark(self) -> Checkpoint:
        """Make a checkpoint of the folder as it is now. Raises CheckpointUnavailable."""

    def compare(self, before: Checkpoint, after: Checkpoint) -> Iterator[PathChange]:
        """Yield every path that differs. Raises CheckpointUnavailable."""

    def kill(self) -> None:
        """Stop running work. Safe from any thread."""

    def close(self) -> None:
        """Release all resources."""
