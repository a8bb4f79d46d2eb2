"""Reads the state of a file and writes it back exactly: bytes, mode, symlink, or that there is no file.

A path here has no symlinks on its way and is inside the session's folders; the name itself may be a symlink,
which is then what is read and written. Blocks, so it belongs on a thread.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator

from ...core.changes import Version
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

MOST_FILE = 32 * 2**20
"""Bytes of a file that is kept: data sets are not what an agent edits by the dozen."""

ATTEMPTS = 5
"""How often a write is begun anew because the file changed under it."""


def place_of(roots: Roots, path: str) -> ResolvedPath:
    """Where the path is; raises FileTrouble if a link on its way leads elsewhere by now."""
    folder, name = os.path.split(path)
    above = roots.resolve(folder)
    if above.path != folder:
        raise Refused(f"{visible(path)} cannot be reached: a folder on its way is a link by now")
    return ResolvedPath(path, above.root, (*above.parts, name), folder=False)


def read_state(roots: Roots, path: str, most: int = MOST_FILE) -> Version | None:
    """The file as it is; None: there is none. Raises FileTrouble for what is no file, or too large."""
    place = place_of(roots, path)
    with _told(place, "read"):
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
            raise Refused(f"{place.shown} is no plain file")
        if status.st_size > most:
            raise TooLarge(f"{place.shown} is too large to be kept ({status.st_size / 2**20:.0f} MB)")
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
        with open(os.open(place.name, flags, dir_fd=folder.fd), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise Refused(f"{place.shown} is no plain file")
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
    """Make the file that, in place of what it is now; False: it is something else by now.

    A new one is whole before it takes the old one's place; folders that are missing are made. `note`: is
    told where it stands until then.
    """
    place = place_of(roots, path)
    with _told(place, "written"):
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
    finally:
        with contextlib.suppress(OSError):  # it is in its place
            os.unlink(name, dir_fd=folder.fd)


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
    """This folder and those above it, as far as they are empty; never a root, and none of `keep`."""
    while folder not in roots.folders and folder not in keep:
        try:
            place = place_of(roots, folder)
            with parent_of(place) as above:
                os.rmdir(place.name, dir_fd=above.fd)
        except (OSError, FileTrouble):
            return  # not empty, or not there
        folder = os.path.dirname(folder)


def make_folder(roots: Roots, folder: str) -> None:
    """An empty folder that was there before."""
    with contextlib.suppress(OSError, FileTrouble):  # what is in its way is told with the files
        place = place_of(roots, folder)
        with parent_of(place, create=True) as above, contextlib.suppress(FileExistsError):
            os.mkdir(place.name, dir_fd=above.fd)


def make_root(roots: Roots, path: str) -> None:
    """The session's folder that the path is in, if it is gone as a whole; nothing above it is made."""
    for root in roots.folders:
        above = os.path.dirname(root)
        if path.startswith(f"{root}/") and not os.path.lexists(root) and os.path.realpath(above) == above:
            with contextlib.suppress(OSError):  # what is written next says why
                os.mkdir(root)


@contextlib.contextmanager
def _told(place: ResolvedPath, doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            why += ": the permissions must be changed first"
        raise Failed(f"{place.shown} cannot be {doing} ({why})") from None
