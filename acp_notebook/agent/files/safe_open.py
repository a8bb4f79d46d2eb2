"""Open regular files in the session's folders, refuse anything swapped in, and translate system errors.

Independent of the files' contents; `roots` resolves the paths. Blocks.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from .roots import Failed, Folder, NotFound, Refused, ResolvedPath, swapped

_ADVICE = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some space and try again",
    errno.EACCES: "the user must change the permissions first",
    errno.EPERM: "the user must change the permissions first",
    errno.ETXTBSY: "end the program that runs from it first",
    errno.ENAMETOOLONG: "choose a shorter name",
}


@contextlib.contextmanager
def reader(folder: Folder, place: ResolvedPath, *, writable: bool = False) -> Iterator[BinaryIO]:
    """Open the regular file; with `writable`, only if a plain write could change it, too."""
    try:
        # Check before opening: opening a device can already have an effect.
        _check_kind(os.stat(place.name, dir_fd=folder.fd, follow_symlinks=False), place, writable)
        fd = _open_file(folder, place, writable)
    except FileNotFoundError:
        raise NotFound(f"{place.shown} is not there") from None
    with contextlib.ExitStack() as opening:
        opening.callback(os.close, fd)
        _check_kind(os.fstat(fd), place, writable)
        file = os.fdopen(fd, "rb")
        opening.pop_all()  # the file closes it now
    with file:
        yield file


def _open_file(folder: Folder, place: ResolvedPath, writable: bool) -> int:
    # O_NONBLOCK: a FIFO that was swapped in must not block us.
    flags = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    try:
        return os.open(place.name, flags | (os.O_RDWR if writable else os.O_RDONLY), dir_fd=folder.fd)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise swapped(place) from None
        if writable and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise _read_only(place) from None
        raise


def _check_kind(status: os.stat_result, place: ResolvedPath, writable: bool) -> None:
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        raise swapped(place)
    if stat.S_ISDIR(mode):
        raise Refused(f"{place.shown} is a folder: name a file in it")
    if not stat.S_ISREG(mode):
        raise Refused(f"{place.shown} is a device, a pipe or a socket: only regular files can be used")
    if writable and not mode & 0o222:  # root could write it, but it was made read-only on purpose
        raise _read_only(place)


def _read_only(place: ResolvedPath) -> Refused:
    return Refused(f"{place.shown} is read-only: the user must change its permissions first")


def status_of(folder: Folder, place: ResolvedPath) -> tuple[int, ...] | None:
    try:
        return identity(os.stat(place.name, dir_fd=folder.fd, follow_symlinks=False))
    except FileNotFoundError:
        return None


def identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@contextlib.contextmanager
def as_file_trouble(place: ResolvedPath, doing: str) -> Iterator[None]:
    """Turn an OSError into `Failed`, with advice."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        advice = _ADVICE.get(error.errno or 0, "try again")
        raise Failed(f"{place.shown} cannot be {doing} ({why}): {advice}") from None
