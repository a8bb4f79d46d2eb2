"""Files that are being put in place of others, by name: what a killed process leaves of them is found again.

Knows a list on disk that is locked as long as its process lives, and what our unfinished files are called;
not why they are written. Blocks.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import threading
from pathlib import Path

from ..files.writing import LEFTOVER
from .store import lock, state_folder

FOLDER = "unfinished"


class Leftovers:
    """A list of this process's; usable from any thread."""

    def __init__(self, base: Path | None = None) -> None:
        self._base = base
        self._file: Path | None = None
        self._fd = -1
        self._lock = threading.Lock()

    def note(self, path: str) -> None:
        """Before it is made. Where nothing can be noted, it is made all the same."""
        with self._lock, contextlib.suppress(OSError):
            if self._fd < 0:
                self._open()
            os.write(self._fd, os.fsencode(path) + b"\0")

    def _open(self) -> None:
        folder = (self._base or state_folder()) / FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = folder / secrets.token_hex(8)
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            lock(fd, exclusive=True)
        except OSError:
            os.close(fd)
            file.unlink(missing_ok=True)
            raise
        self._file, self._fd = file, fd

    def close(self) -> None:
        """All of them are in their places, or gone."""
        with self._lock:
            if self._file is not None:
                self._file.unlink(missing_ok=True)
                os.close(self._fd)
            self._file, self._fd = None, -1

    def __del__(self) -> None:
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)


def sweep(base: Path | None = None) -> None:
    """Remove what processes that are gone have left."""
    with contextlib.suppress(OSError):
        for file in ((base or state_folder()) / FOLDER).iterdir():
            with contextlib.suppress(OSError):
                _sweep(file)


def _sweep(file: Path) -> None:
    with open(file, "rb") as opened:
        lock(opened.fileno(), exclusive=True)  # whoever made it lives, or it is being made: an OSError
        for path in map(os.fsdecode, opened.read().split(b"\0")[:-1]):
            if os.path.isabs(path) and LEFTOVER.fullmatch(os.path.basename(path)):
                with contextlib.suppress(OSError):
                    _remove(path)
        file.unlink(missing_ok=True)


def _remove(path: str) -> None:
    """If it is ours: nobody else's file of that name, and no folder; by no link on its way."""
    folder, name = os.path.split(path)
    if os.path.realpath(folder) != folder:
        return
    status = os.lstat(path)
    plain = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
    if plain and status.st_uid == os.geteuid():
        os.unlink(os.path.join(folder, name))
