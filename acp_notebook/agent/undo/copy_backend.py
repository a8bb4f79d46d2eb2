"""Checkpoints of a small folder without git: a copy of every file, read again when its status changes.

Has no ignore rules: it skips folders that nobody edits by name. Knows nothing about turns. Blocks, so call it
on a work thread.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator

from msgspec import Struct

from ...core.changes import PathChange, Version
from ..files.blob_store import BlobRef, BlobStore, Full
from ..files.file_state import MOST_FILE
from .backend import SAVING, Checkpoint, CheckpointUnavailable

MOST_FILES = 5_000
MOST_BYTES = 128 * 2**20
"""Limits of the folder: without git, every file has to be copied."""

CACHES = (".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".cache", ".tox")
LEFT_OUT = frozenset({".git", "__pycache__", ".ipynb_checkpoints", "node_modules", ".venv", "venv", *CACHES})
"""Names of folders that are not copied."""

Signature = tuple[int, ...]


class _File(Struct, frozen=True):
    signature: Signature
    kept: BlobRef | None
    """None if the file is too large or unreadable."""


class CopyBackend:
    """Makes checkpoints of one folder by copying it."""

    description = "by copying, because git is not installed"

    def __init__(self, root: str) -> None:
        self.root = root
        self._store = BlobStore()
        self._known: dict[str, _File] = {}
        self._lock = threading.Lock()
        self._closed = False
        self.notes: tuple[str, ...] = ()

    def mark(self) -> Checkpoint:
        with self._lock:
            try:
                found, empty, left_out = self._walk()
                self._known = {path: self._file(path, it) for path, it in found.items()}
            except (OSError, Full) as error:
                raise CheckpointUnavailable(str(error)) from None
        self.notes = (f"not covered: {', '.join(sorted(left_out))}",) if left_out else ()
        return Checkpoint(dict(self._known), frozenset(empty))

    def _walk(self) -> tuple[dict[str, os.stat_result], list[str], set[str]]:
        found: dict[str, os.stat_result] = {}
        empty: list[str] = []
        left_out: set[str] = set()
        total = 0
        for place, folders, files in os.walk(self.root):
            if self._closed:
                raise CheckpointUnavailable("the session was closed")
            links = [it for it in folders if os.path.islink(os.path.join(place, it))]
            left_out |= {f"{it}/" for it in folders if it in LEFT_OUT}
            folders[:] = [it for it in folders if it not in LEFT_OUT and it not in links]
            if not folders and not files and not links:
                empty.append(place)
            for name in (it for it in [*files, *links] if not it.startswith(SAVING)):
                path = os.path.join(place, name)
                try:
                    status = os.lstat(path)
                except FileNotFoundError:
                    continue
                if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                    found[path] = status
                    total += min(status.st_size, MOST_FILE)
            if len(found) > MOST_FILES or total > MOST_BYTES:
                raise CheckpointUnavailable("git is not installed, and the folder is too large to copy")
        return found, empty, left_out

    def _file(self, path: str, status: os.stat_result) -> _File:
        signature = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)
        known = self._known.get(path)
        if known is not None and known.signature == signature:
            return known
        version = _read(path, status)
        return _File(signature, None if version is None else self._store.keep(version))

    def compare(self, before: Checkpoint, after: Checkpoint) -> Iterator[PathChange]:
        old: dict[str, _File] = before.state
        new: dict[str, _File] = after.state
        for path in sorted({*old, *new}):
            one, other = old.get(path), new.get(path)
            if one == other:
                continue
            if (one is not None and one.kept is None) or (other is not None and other.kept is None):
                yield PathChange(path, why_not="too large to be kept, or not readable")
                continue
            states = [
                None if it is None or it.kept is None else self._store.get(it.kept) for it in (one, other)
            ]
            if states[0] != states[1]:
                yield PathChange(path, states[0], states[1])

    def kill(self) -> None:
        self._closed = True

    def close(self) -> None:
        self._closed = True


def _read(path: str, status: os.stat_result) -> Version | None:
    try:
        if stat.S_ISLNK(status.st_mode):
            return Version(os.fsencode(os.readlink(path)), 0o777, link=True)
        if status.st_size > MOST_FILE:
            return None
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags), "rb") as file:
            return Version(file.read(MOST_FILE + 1), stat.S_IMODE(status.st_mode))
    except OSError:
        return None
