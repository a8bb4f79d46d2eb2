"""Read the state of a file and write it back exactly: bytes, mode, symlink, or that there is no file.

Paths here are inside the session's folders, and none of their folders is a symlink; the file itself may be a
symlink, which is then read and written as such. Blocks, so call it on a thread.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator

from ...core.changes import Version
from ...log import logger, suppressed
from .roots import (
    Failed,
    FileTrouble,
    Folder,
    NotFound,
    Refused,
    ResolvedPath,
    Roots,
    TooLarge,
    parent_of,
    visible,
)
from .unfinished import new_name

_log = logger(__name__)

MOST_FILE = 32 * 2**20
"""The largest file that is kept: agents rarely edit data sets."""

ATTEMPTS = 5
"""How often a write is retried because the file changed during it."""


def place_of(roots: Roots, path: str) -> ResolvedPath:
    """Resolve the path; raises FileTrouble if one of its folders has become a link."""
    folder, name = os.path.split(path)
    above = roots.resolve(folder)
    if above.path != folder:
        raise Refused(f"{visible(path)} cannot be used: one of its folders is now a link")
    return ResolvedPath(path, above.root, (*above.parts, name), folder=False)


def read_state(roots: Roots, path: str, most: int = MOST_FILE) -> Version | None:
    """The state of the file; None if there is none. Raises FileTrouble if it is too large or not a file."""
    place = place_of(roots, path)
    with _as_file_trouble(place, "read"):
        try:
            with parent_of(place) as folder:
                return _read(folder, place, most)
        except NotFound:
            return None


def _read(folder: Folder, place: ResolvedPath, most: int) -> Version | None:
    try:
        status = os.stat(place.name, dir_fd=folder.fd, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return Version(os.fsencode(os.readlink(place.name, dir_fd=folder.fd)), 0o777, link=True)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{place.shown} is not a regular file")
        if status.st_size > most:
            raise TooLarge(f"{place.shown} is too large to be kept ({status.st_size / 2**20:.0f} MB)")
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
        with open(os.open(place.name, flags, dir_fd=folder.fd), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise Refused(f"{place.shown} is not a regular file")
            return Version(file.read(most + 1), stat.S_IMODE(mode))
    except FileNotFoundError:
        return None


def write_state(
    roots: Roots,
    path: str,
    version: Version | None,
    now: Version | None,
    note: Callable[[str], None] = lambda _: None,
) -> bool:
    """Replace the state `now` of the file by `version`; return False if it is no longer in the state `now`.

    A new file is complete before it replaces the old one; missing folders are created. `note` is called with
    the path of the temporary file.
    """
    place = place_of(roots, path)
    with _as_file_trouble(place, "written"):
        try:
            with parent_of(place, create=version is not None) as folder:
                if _read(folder, place, MOST_FILE) != now:
                    return False
                if version is None:
                    os.unlink(place.name, dir_fd=folder.fd)
                elif now is not None and not now.link and not version.link and now.data == version.data:
                    _set_mode(folder, place, version.mode)
                else:
                    _replace(folder, place, version, note)
                return True
        except NotFound:
            return version is None and now is None


def _set_mode(folder: Folder, place: ResolvedPath, mode: int) -> None:
    fd = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.fd)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)


def _replace(folder: Folder, place: ResolvedPath, version: Version, note: Callable[[str], None]) -> None:
    name = new_name()
    note(os.path.join(os.path.dirname(place.path), name))
    try:
        if version.link:
            os.symlink(os.fsdecode(version.data), name, dir_fd=folder.fd)
        else:
            _new_file(folder, name, version)
        os.replace(name, place.name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    except BaseException:  # only then: many threads wait for the lock of one folder
        with suppressed(_log, OSError):  # it was not created
            os.unlink(name, dir_fd=folder.fd)
        raise


def _new_file(folder: Folder, name: str, version: Version) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=folder.fd)
    try:
        left = memoryview(version.data)
        while left:
            left = left[os.write(fd, left) :]
        os.fchmod(fd, version.mode)
        os.fsync(fd)
    finally:
        os.close(fd)


def remove_empty(roots: Roots, folder: str, keep: frozenset[str]) -> None:
    """Remove this folder and its parents as far as they are empty; never a root, and none of `keep`."""
    while folder not in roots.folders and folder not in keep:
        try:
            place = place_of(roots, folder)
            with parent_of(place) as above:
                os.rmdir(place.name, dir_fd=above.fd)
        except (OSError, FileTrouble):
            return  # not empty, or missing
        folder = os.path.dirname(folder)


def make_folder(roots: Roots, folder: str) -> None:
    """Restore an empty folder."""
    with suppressed(_log, OSError, FileTrouble):  # an obstacle is reported with the files
        place = place_of(roots, folder)
        with parent_of(place, create=True) as above, contextlib.suppress(FileExistsError):
            os.mkdir(place.name, dir_fd=above.fd)


def make_root(roots: Roots, path: str) -> None:
    """Create the root that contains the path if it is missing; never creates its parents."""
    for root in roots.folders:
        above = os.path.dirname(root)
        if path.startswith(f"{root}/") and not os.path.lexists(root) and os.path.realpath(above) == above:
            with suppressed(_log, OSError):  # the next write reports why
                os.mkdir(root)


@contextlib.contextmanager
def _as_file_trouble(place: ResolvedPath, doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            why += ": change the permissions first"
        raise Failed(f"{place.shown} cannot be {doing} ({why})") from None
