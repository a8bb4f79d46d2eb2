"""What a snapshot of a folder and a copy made from it can do, whichever way they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...core.fan_out.task import ChangedFile, FolderSpec

Shared = Sequence[tuple[str, str]]
"""Real paths, and where to link them below the top of a copy."""


class CopyFailed(Exception):
    """A folder cannot be copied or compared. The message tells the user why."""


class Snapshot(Protocol):
    """The state of the user's folder at one moment, from which copies are made."""

    @property
    def top(self) -> str:
        """The user's folder, or the top of its repository: the copies have all of it."""
        ...

    @property
    def spec(self) -> FolderSpec: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the copies do not contain."""
        ...

    def pack(self) -> bytes:
        """Everything a worker needs that does not share our disk. Raises CopyFailed."""
        ...

    def close(self) -> None: ...


class Copy(Protocol):
    """A run's own copy of the folder."""

    @property
    def top(self) -> str: ...

    @property
    def cwd(self) -> str:
        """The folder to work in, at or below the top."""
        ...

    def mark(self) -> None:
        """Compare with the state of now: what was changed until now is not the run's. Raises CopyFailed."""
        ...

    def changes(self) -> tuple[tuple[ChangedFile, ...], bytes]:
        """The changed files, and all changes as a patch for git. Raises CopyFailed."""
        ...

    def remove(self) -> None: ...
