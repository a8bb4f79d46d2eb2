"""Where an agent may read and write: the session's folders, and nothing outside of them.

Knows no text and no protocol. A path is first resolved by name (`..` and symlinks), then walked with
descriptors from / on, one name at a time and never through a symlink: what was swapped in between is an
error, never a way out. POSIX only.

    FileTrouble
    ├── BadRequest    the path or a number cannot be: relative, a NUL in it, a negative line
    ├── Outside       the path leaves the session's folders
    ├── NotFound      there is no such file
    ├── Refused       it is there, but no file for us: a folder, a device, read-only, swapped meanwhile
    ├── NotText       it cannot be read, or written, as text without losing something
    ├── TooLarge      more than one answer may hold
    └── Failed        the operating system says no: no permission, no space
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MAX_PATH = 4096
"""Characters of a path: what Linux takes in one call. A longer one only costs time."""

MAX_LINKS = 40
"""Symlinks on the way to a file, as in Linux: more of them run in a circle."""

MAX_NEW_FOLDERS = 64
"""Folders that one write may create: deeper than projects are, and each holds a descriptor until the end."""

SYSTEM = ("/proc", "/sys", "/dev")
"""Never served, also if a root is above them: /proc/self/environ holds the kernel's secrets."""

SYSTEM_EXCEPT = "/dev/shm"
"""Plain memory, where people do work."""

_SHOWN_PATH = 300
"""Characters of a path in a message: a name that is longer tells no more."""

_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]")
"""Characters that count as printable and show nothing."""


class FileTrouble(Exception):
    """A file cannot be read or written; the message says why, and what to do."""


class BadRequest(FileTrouble):
    """The request itself is not valid."""


class Outside(FileTrouble):
    """The path leaves the session's folders."""


class NotFound(FileTrouble):
    """There is no such file."""


class Refused(FileTrouble):
    """The path leads to something that is not a regular file, or that agents may not touch."""


class NotText(FileTrouble):
    """It cannot be read, or written, as text without losing something."""


class TooLarge(FileTrouble):
    """The file exceeds the size limit."""


class Failed(FileTrouble):
    """The operating system refused the operation."""


def visible(path: str) -> str:
    """The path for people: one line, with every character in it to be seen."""
    if len(path) > _SHOWN_PATH:
        path = f"{path[: _SHOWN_PATH // 2]}…{path[-_SHOWN_PATH // 2 :]}"
    return "".join(char if char.isprintable() and not _BLANK.match(char) else _named(char) for char in path)


def _named(char: str) -> str:
    point = ord(char)
    # How Python spells a byte of a name that is not UTF-8.
    name = f"0x{point - 0xDC00:02X}" if 0xDC80 <= point <= 0xDCFF else f"U+{point:04X}"
    return f"\u2039{name}\u203a"


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A path inside a root: no `..` and no symlink was left in it when it was resolved."""

    asked: str
    """As the agent wrote it."""
    root: str
    parts: tuple[str, ...]
    """From the root on; empty for the root itself."""
    folder: bool
    """It can only be meant as a folder: the root itself, or written with a slash at the end."""
    named: str = ""
    """The path for people: as the agent wrote it, with the root's real path; unlike `path` behind a link."""

    @property
    def path(self) -> str:
        return os.path.join(self.root, *self.parts)

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def shown(self) -> str:
        return visible(self.asked)


class Roots:
    """The folders of a session: its working directory first.

    What they are is settled here, once: a root that is a symlink and is turned elsewhere later does not
    take the agent along.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._spellings = {folder.rstrip("/"): _real(_checked(folder)) for folder in folders}
        self.folders = tuple(dict.fromkeys(self._spellings.values()))

    def resolve(self, path: str) -> ResolvedPath:
        """Where the path leads, whether or not there is anything; raises Outside if it leaves the roots."""
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise Refused("files are not served on this system (Windows): the agent must use its own tools")
        real = _real(_checked(path))
        if _below(real, SYSTEM) and not _below(real, (SYSTEM_EXCEPT,)):
            raise Outside(f"{visible(path)} belongs to the operating system, not to the session's folders")
        # The deepest one, so that as little as possible must be there already.
        for root in sorted(self.folders, key=len, reverse=True):
            if _below(real, (root,)):
                parts = tuple(filter(None, real[len(root) :].split("/")))
                ends_as_folder = path.rsplit("/", 1)[-1] in ("", ".", "..")
                is_folder = ends_as_folder or not parts
                return ResolvedPath(path, root, parts, is_folder, self._named(path, real))
        folders = ", ".join(map(visible, self.folders)) or "none"
        raise Outside(f"{visible(path)} is outside of the session's folders ({folders}): add it to roots=")

    def _named(self, path: str, real: str) -> str:
        whole = re.sub("/+", "/", path)
        for given, root in self._spellings.items():
            if given != root and _below(whole, (given,)):
                whole = root + whole[len(given) :]
                break
        return real if os.path.normpath(whole) == real else whole

    def contains(self, path: str) -> bool:
        """Whether the path is inside, the roots themselves included."""
        try:
            self.resolve(path)
        except FileTrouble:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder: `fd` is for `dir_fd=` only."""

    fd: int
    made: list[tuple[int, str]] = field(default_factory=list)
    """The folders that were created on the way, each with the descriptor of the one that it is in."""


@contextlib.contextmanager
def parent_of(place: ResolvedPath, *, create: bool = False) -> Iterator[Folder]:
    """The folder that the file is in, open; what was created for it goes again if the block fails."""
    if place.folder:
        raise Refused(f"{place.shown} names a folder, not a file: name a file in it")
    made: list[tuple[int, str]] = []
    fd = os.open("/", _folder_flags())
    try:
        above = tuple(filter(None, place.root.split("/")))
        for depth, name in enumerate((*above, *place.parts[:-1])):
            below = _step(fd, name, place, made if create and depth >= len(above) else None)
            if not made or made[-1][0] != fd:
                os.close(fd)
            fd = below
        yield Folder(fd, made)
    except BaseException:
        for holder, name in reversed(made):
            with contextlib.suppress(OSError):  # not empty: somebody has put something there meanwhile
                os.rmdir(name, dir_fd=holder)
        raise
    finally:
        for open_fd in {fd, *(holder for holder, _ in made)}:
            os.close(open_fd)


def _step(fd: int, name: str, place: ResolvedPath, made: list[tuple[int, str]] | None) -> int:
    """One folder down; `made` is the list to note it in if it may be created."""
    try:
        try:
            return os.open(name, _folder_flags(), dir_fd=fd)
        except FileNotFoundError:
            if made is None:
                raise
            _make(fd, name, place, made)
            return os.open(name, _folder_flags(), dir_fd=fd)
    except FileNotFoundError:
        raise NotFound(f"{place.shown} is not there: the folder {visible(name)} is missing") from None
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):  # EMLINK: a symlink, on FreeBSD
            raise
        raise _no_folder(fd, name, place) from None


def _make(fd: int, name: str, place: ResolvedPath, made: list[tuple[int, str]]) -> None:
    if len(made) == MAX_NEW_FOLDERS:
        raise Refused(f"{place.shown} needs more than {MAX_NEW_FOLDERS} new folders: create them first")
    try:
        os.mkdir(name, 0o777, dir_fd=fd)  # less the umask
    except FileExistsError:
        return  # somebody was faster: theirs is as good, and not ours to remove
    made.append((fd, name))


def _no_folder(fd: int, name: str, place: ResolvedPath) -> Refused:
    with contextlib.suppress(OSError):
        if not stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
            return Refused(f"{place.shown} cannot be: {visible(name)} in it is not a folder")
    return swapped(place)


def swapped(place: ResolvedPath) -> Refused:
    return Refused(f"{place.shown} changed while it was opened: try again")


def _folder_flags() -> int:
    # O_PATH needs no right to list a folder: /home is often closed to that.
    return getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _checked(path: str) -> str:
    if not path:
        raise BadRequest("the path is empty: give the absolute path of a file")
    if len(path) > MAX_PATH:
        raise BadRequest(f"the path is too long ({len(path)} characters): {visible(path)}")
    if "\0" in path:
        raise BadRequest(f"the path has a NUL character in it: {visible(path)}")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise BadRequest(f"the path cannot be the name of a file: {visible(path)}") from None
    if not path.startswith("/"):
        raise BadRequest(f"the path must be absolute, and {visible(path)} is relative")
    return path


def _real(path: str) -> str:
    """The path without `..` and symlinks, as the operating system walks it; what is missing is kept."""
    done, links = "/", 0
    todo = path.split("/")[::-1]
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if name == "..":
            done = os.path.dirname(done)
            continue
        here = os.path.join(done, name)
        target = _target(here, path)
        if target is None:
            done = here
            continue
        links += 1
        if links > MAX_LINKS:
            raise Refused(f"the symlinks in {visible(path)} run in a circle")
        if target.startswith("/"):
            done = "/"
        todo.extend(target.split("/")[::-1])
    return done


def _target(here: str, path: str) -> str | None:
    """What a symlink points at; None for everything else."""
    try:
        return os.readlink(here)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise BadRequest(f"a name in the path is too long: {visible(path)}") from None
        return None  # no symlink, missing, or closed to us: then the walk to it says so


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
