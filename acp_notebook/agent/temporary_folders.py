"""Private temporary folders that are removed when this process ends, or by the next process if it is killed.

A process holds a lock on each of its folders, so a folder with a free lock belongs to no process.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import threading
from pathlib import Path

from ..log import logger, suppressed

_log = logger(__name__)

PREFIXES = ("acp-sign-in-", "acp-cassette-", "acp-tools-", "acp-run-", "acp-runs-")
LOCK = ".acp-lock"

_locks: dict[Path, int] = {}
_registered = threading.Event()
_swept = threading.Event()


def make(prefix: str, *, in_memory: bool = False, base: str | None = None) -> Path:
    """Create a folder that only the user can read. `in_memory`: on a memory file system, if there is one."""
    assert prefix in PREFIXES
    where = base or (_runtime() if in_memory else None)
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=where)))
    # Lock the file before it gets its name, or a sweep could consider the folder a leftover.
    draft = folder / "draft"
    lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(draft, folder / LOCK)
    if not _registered.is_set():
        _registered.set()
        atexit.register(_remove_all, os.getpid())
    _locks[folder] = lock
    return folder


def remove(folder: Path) -> None:
    lock = _locks.pop(folder, None)
    _remove_lock_last(folder)
    if lock is not None:
        os.close(lock)


def _remove_lock_last(folder: Path) -> None:
    """If this process is killed meanwhile, the next one still sees that the folder belongs to nobody."""
    with suppressed(_log, OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                remove_tree(Path(entry.path))
            elif entry.name != LOCK:
                os.unlink(entry.path)
    remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Remove the folder with everything in it, also what the user's own programs made read-only."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        return
    for place, _, _ in os.walk(folder):
        with suppressed(_log, OSError):
            os.chmod(place, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_all(owner: int) -> None:
    if os.getpid() == owner:  # a forked copy owns nothing
        for folder in tuple(_locks):
            remove(folder)


def sweep() -> None:
    """Remove the folders of killed processes. Runs once per process."""
    if _swept.is_set():
        return
    _swept.set()
    for base in {tempfile.gettempdir(), _runtime() or tempfile.gettempdir(), "/tmp"}:
        for prefix in PREFIXES:
            for folder in Path(base).glob(f"{prefix}*"):
                with suppressed(_log, OSError):  # locked by another process, or already removed
                    _remove_leftover(folder)


def _remove_leftover(folder: Path) -> None:
    if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
        return
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove_lock_last(folder)
    finally:
        os.close(lock)


def _runtime() -> str | None:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return runtime if runtime and os.access(runtime, os.W_OK) else None
