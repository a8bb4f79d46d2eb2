"""Keeps file contents for undo, in a spool. Independent of paths. Usable from any thread."""

from __future__ import annotations

from msgspec import Struct

from ...core.changes import Version
from ..spool import Full, Spool, Stored

__all__ = ["BlobRef", "BlobStore", "Full"]


class BlobRef(Struct, frozen=True):
    """A reference to a file's content in the store."""

    stored: Stored
    size: int
    mode: int
    link: bool = False


class BlobStore:
    """Keeps the contents of files; usable from any thread."""

    def __init__(self) -> None:
        self._spool = Spool()

    def keep(self, version: Version) -> BlobRef:
        """Store the content. Raises Full or another OSError."""
        stored = self._spool.keep(version.data)
        return BlobRef(stored, len(version.data), version.mode, version.link)

    def get(self, kept: BlobRef) -> Version:
        return Version(self._spool.get(kept.stored), kept.mode, kept.link)
