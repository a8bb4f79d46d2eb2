"""Lists temporary files in the state folder, so that none is left behind after a kill.

Each process locks its list for as long as it lives, so the files on an unlocked list are leftovers. Blocks.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ...core.patterns import pattern
from ...log import logger, suppressed
from ..locked_file import lock
from ..user_dirs import state_folder

_log = logger(__name__)

LEFTOVER = pattern(r"\.acp-notebook-[0-9a-f]{16}\.tmp")
"""The names of temporary files, each used once."""

DRAFT = ".part"
"""The suffix of an unfinished cassette. Its name may be reused, so it is locked while it is written."""

FOLDER = "unfinished"


def new_name() -> str:
    return f".acp-notebook-{secrets.token_hex(8)}.tmp"


class Unfinished:
    """A list of this process's temporary files; usable from any thread."""

    def __init__(self, base: Path | None = None) -> None:
        self._base = base
        self._file: Path | None = None
        self._fd = -1
        self._lock = threading.Lock()
        self._pending = 0

    def note(self, path: str) -> None:
        """Add a path before the file is created. Errors are ignored: the file is created all the same."""
        with self._lock, suppressed(_log, OSError):
            if self._fd < 0:
                self._open()
            os.write(self._fd, os.fsencode(path) + b"\0")

    @contextlib.contextmanager
    def noting(self, path: str) -> Iterator[None]:
        """List the path during the block; the list is removed when it is empty."""
        with self._lock:
            self._pending += 1
        self.note(path)
        try:
            yield
        finally:
            with self._lock:
                self._pending -= 1
                if not self._pending:
                    self._close()

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
        """Remove the list, because all its files are in place or gone."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.unlink(missing_ok=True)
            os.close(self._fd)
        self._file, self._fd = None, -1

    def __del__(self) -> None:
        if self._fd >= 0:
            with suppressed(_log, OSError):
                os.close(self._fd)


writes = Unfinished()
"""The temporary files of this process's writes."""


def remove_unfinished(base: Path | None = None) -> None:
    """Remove the temporary files of processes that no longer run."""
    with suppressed(_log, OSError):
        for file in ((base or state_folder()) / FOLDER).iterdir():
            with suppressed(_log, OSError):
                _remove_listed(file)


def _remove_listed(file: Path) -> None:
    with open(file, "rb") as opened:
        lock(opened.fileno(), exclusive=True)  # raises OSError if its process is alive
        for path in map(os.fsdecode, opened.read().split(b"\0")[:-1]):
            with suppressed(_log, OSError):
                _remove(path)
        file.unlink(missing_ok=True)


def _remove(path: str) -> None:
    """Remove the file if it is ours: owned by the user, with our name, not a folder, not behind a link."""
    folder, name = os.path.split(path)
    if not os.path.isabs(path) or os.path.realpath(folder) != folder:
        return
    status = os.lstat(path)
    if status.st_uid != os.geteuid():
        return
    if LEFTOVER.fullmatch(name) and (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        os.unlink(path)
    elif name.endswith(DRAFT) and stat.S_ISREG(status.st_mode):
        fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            lock(fd, exclusive=True)  # raises OSError if a process is writing it
            if _is_at(fd, path):
                os.unlink(path)
        finally:
            os.close(fd)


def open_draft(path: Path) -> BinaryIO:
    """Open an empty file and lock it; raises OSError, and BlockingIOError if another process has it."""
    while True:
        file = open(path, "ab", buffering=0)  # noqa: SIM115
        try:
            _lock_draft(file.fileno())
            if _is_at(file.fileno(), path):
                file.truncate(0)
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # it was removed before it was locked


def _lock_draft(fd: int) -> None:
    try:
        lock(fd, exclusive=True)
    except BlockingIOError:
        raise
    except OSError:
        pass  # the file system has no locks: then no process removes the file, either


def _is_at(fd: int, path: str | Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False
