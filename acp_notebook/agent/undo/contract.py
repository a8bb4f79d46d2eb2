"""The interface of a session's checkpoints. They are made from the disk or read from a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...core.changes import PathChange
from .checkpoints import Marks


class TurnCheckpoints(Protocol):
    """Makes and compares the checkpoints of all folders of one session."""

    @property
    def covers(self) -> bool:
        """Whether this session has checkpoints."""

    @property
    def why_not(self) -> str:
        """Why this session has no checkpoints; meaningful only if `covers` is false."""

    @property
    def states(self) -> dict[str, str]:
        """How each folder is covered. Safe from any thread."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the last checkpoints do not cover."""

    @property
    def can_switch(self) -> bool:
        """Whether checkpoints can be switched on and off."""

    def switch(self, on: bool) -> None:
        """Make checkpoints from now on, or not any more. Only between two turns, and if `can_switch`."""

    def warm(self) -> None:
        """Start the first checkpoints in the background."""

    def late(self) -> Marks:
        """Return empty marks for a turn that starts without checkpoints."""

    async def before(self, waited: float = 0.0) -> Marks:
        """Make the checkpoints before a turn. `waited`: seconds of the time limit already spent."""

    async def after(self, marks: Marks, keep: Callable[[PathChange], None]) -> frozenset[str]:
        """Pass each path that changed since `marks` to `keep`; return the folders that are empty now."""

    def kill(self) -> None:
        """Stop running work at once. Safe from any thread."""

    async def close(self) -> None:
        """Stop running work and release everything."""
