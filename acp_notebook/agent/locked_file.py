"""Safe access to the user's own files: ownership checks, locks, durable writes."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from .. import timeouts
from ..errors import Error

LOCK_PAUSE_S = 0.01

MAX_BYTES = 4_000_000
"""Size limit, about ten thousand grants: a check must not take long."""


class Untrusted(Exception):
    """The file must not be trusted. The message says why."""


def bytes_of(handle: int) -> bytes:
    """Read the file. Raises Untrusted if it is no regular file, not the user's, or too large."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise Untrusted("it is not a regular file")
    check_mine(status, "it", "600")
    data = b""
    while part := os.read(handle, MAX_BYTES + 1 - len(data)):
        data += part
    if len(data) > MAX_BYTES:
        raise Untrusted(f"it is bigger than {MAX_BYTES} bytes")
    return data


def check_mine(status: os.stat_result, what: str, mode: str) -> None:
    """Raise Untrusted if another user owns the file or can write it."""
    if status.st_uid != os.geteuid():
        raise Untrusted(f"{what} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Untrusted(f"{what} can be written by others; check its content, then run chmod {mode}")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock, released if the process dies. Raises Error after `file_lock`."""
    try:
        import fcntl
    except ImportError:
        raise Error("permissions can only be stored on Linux and macOS") from None
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + timeouts.get().file_lock
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Error(f"{path} is locked by another process; nothing was changed") from None
                time.sleep(LOCK_PAUSE_S)
        yield
    finally:
        os.close(handle)


def write_new(path: Path, data: bytes) -> None:
    """Create a file that only the user can read, and flush it to the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def lock(fd: int, *, exclusive: bool) -> None:
    """Wait for a shared lock, or take an exclusive one without waiting. Raises OSError."""
    try:
        import fcntl
    except ImportError:
        raise OSError("this system does not support file locks") from None
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH)
