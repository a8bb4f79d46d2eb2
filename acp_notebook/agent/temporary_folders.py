"""Private temporary folders that end with this process; what killed processes left is removed by the next.

Each holds a lock for as long as its process lives, so a folder whose lock is free is nobody's. Knows nothing
of what is in them.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
from pathlib import Path

PREFIXES = ("acp-sign-in-", "acp-cassette-")
LOCK = ".acp-lock"

_locks: dict[Path, int] = {}
_swept = threading.Event()


def make(prefix: str, *, in_memory: bool = False) -> Path:
    """A new folder that only the user can read. `in_memory`: where the system has a place for that."""
    assert prefix in PREFIXES
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=_runtime() if in_memory else None)))
    # The lock is taken before the file has its name: else a sweep could take the folder for a leftover.
    draft = folder / "draft"
    lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(draft, folder / LOCK)
    if not _locks:
        atexit.register(_remove_all, os.getpid())
    _locks[folder] = lock
    return folder


def remove(folder: Path) -> None:
    lock = _locks.pop(folder, None)
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def _remove_all(owner: int) -> None:
    if os.getpid() == owner:  # a forked copy owns nothing
        for folder in tuple(_locks):
            remove(folder)


def sweep() -> None:
    """Remove the folders of processes that were killed; once in a process."""
    if _swept.is_set():
        return
    _swept.set()
    for base in {tempfile.gettempdir(), _runtime() or tempfile.gettempdir()}:
        for prefix in PREFIXES:
            for folder in Path(base).glob(f"{prefix}*"):
                with contextlib.suppress(OSError):  # somebody else's, or removed at the same time
                    _remove_leftover(folder)


def _remove_leftover(folder: Path) -> None:
    if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
        return
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _runtime() -> str | None:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return runtime if runtime and os.access(runtime, os.W_OK) else None
