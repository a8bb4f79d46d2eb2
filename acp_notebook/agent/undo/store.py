"""Where private repositories are: one for each folder, in the user's state folder, and not for ever.

Knows folders and locks; nothing of what git keeps in them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

FOLDER_VARIABLE = "ACP_NOTEBOOK_STATE"

KEPT_DAYS = 14
"""A repository that nobody has used for so long goes: it only saves the time of a first look."""

MOST_BYTES = 4 * 2**30
"""Of one repository; a larger one is begun anew, when nobody else uses it."""


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of what we keep between sessions. A relative XDG_STATE_HOME does not count."""
    if chosen := environ.get(FOLDER_VARIABLE):
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_STATE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state") / "acp_notebook"


class Store:
    """A private folder for one work tree, held as long as this lives; raises OSError."""

    def __init__(self, work_tree: str, base: Path | None = None) -> None:
        self.base = (base or state_folder()) / "checkpoints"
        self.base.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = hashlib.sha256(os.fsencode(work_tree)).hexdigest()[:24]
        self.folder = self.base / name
        self._prune(name)
        self._fd = self._held()

    def _held(self) -> int:
        """Shared with others who use it; nobody prunes it meanwhile."""
        if _size(self.folder) > MOST_BYTES:
            _remove(self.folder)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        fd = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            lock(fd, exclusive=False)
            os.utime(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def stamp(self) -> int:
        """Now, by the clock that files are dated with."""
        os.utime(self._fd)
        return os.fstat(self._fd).st_ctime_ns

    def _prune(self, but: str) -> None:
        oldest = time.time() - KEPT_DAYS * 86_400
        with contextlib.suppress(OSError):
            for folder in self.base.iterdir():
                if folder.name != but and _used(folder) < oldest:
                    _remove(folder)


def lock(fd: int, *, exclusive: bool) -> None:
    """Shared is waited for; to have it alone is not. Raises OSError."""
    try:
        import fcntl
    except ImportError:
        raise OSError("there are no locks on this system") from None
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH)


def _used(folder: Path) -> float:
    try:
        return (folder / "lock").stat().st_mtime
    except OSError:
        return folder.stat().st_mtime


def _remove(folder: Path) -> None:
    """Unless somebody uses it."""
    with contextlib.suppress(OSError):
        fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            lock(fd, exclusive=True)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(fd)


def _size(folder: Path) -> int:
    """About: packs and big folders count, names do not."""
    total = 0
    for place, _, files in os.walk(folder / "git" / "objects"):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total
