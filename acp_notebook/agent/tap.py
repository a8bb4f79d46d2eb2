"""The interface for observing a connection and its sessions. `recordings` implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from ..core.changes import PathChange
from .event_bus import EventBus
from .transport import Ending, LinkChange


class ChangedFiles(Struct, frozen=True):
    """What a turn changed besides writes through the client."""

    files: Sequence[PathChange]
    notes: Sequence[str] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Folders without a checkpoint, each with the reason."""
    empty: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    """Empty folders before and after the turn."""


class Tap(Protocol):
    """Observes the bytes of a connection and its successors, and the client's own actions."""

    @property
    def path(self) -> Path | None:
        """The file that the tap writes."""

    @property
    def keeps_files(self) -> bool:
        """Whether the tap needs the files that turns read and change."""

    def sent(self, data: bytes) -> None: ...

    def received(self, data: bytes) -> None: ...

    def ended(self, ending: Ending | None, untaken: Sequence[int]) -> None:
        """The connection ended; another one may follow. `untaken`: requests that the agent did not read."""

    def link_changed(self, change: LinkChange) -> None:
        """The transport reported this, between two messages."""

    def aside(self, session: str) -> AsideTap | None:
        """The tap of a connection on which the history of this session is read."""

    def close(self) -> None:
        """No further connection follows."""

    def opening(self, cwd: str, roots: Sequence[str], *, covered: bool) -> None:
        """A session is about to open in these folders. `covered`: whether it has checkpoints."""

    def follow(self, events: EventBus, session: Callable[[], str], made: Callable[[str], bool]) -> None:
        """Subscribe to the events of a session. `made`: whether the client runs a terminal, given its id."""

    def before_write(self, session: str, path: str, text: str | None) -> None:
        """A file is about to be written, or a notebook read. `text`: its content, None if it has no text."""

    async def turn_changed(
        self, session: str, turn: int, changed: ChangedFiles, spelled: Callable[[str], str]
    ) -> None:
        """The turn is over. `spelled` formats a path as the session writes it."""


class AsideTap(Tap, Protocol):
    """Observes a connection on which a history is read."""

    def finish(self, *, is_complete: bool) -> None:
        """The history was read; or it was not, or a part of it may be missing."""
