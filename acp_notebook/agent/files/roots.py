"""Where an agent may read and write: in the session's folders, and nowhere else.

Independent of the files' contents and of the protocol. A path is first resolved by name (`..` and symlinks),
then walked with descriptors from / on, one name at a time and never through a symlink: something swapped in
between is an error, never a way out. POSIX only.

    FileTrouble
    ├── BadRequest    the path or a number is invalid: relative, with a NUL, a negative line
    ├── Outside       the path leaves the session's folders
    ├── NotFound      there is no such file
    ├── Refused       not a usable file: a folder, a device, read-only, swapped during the operation
    ├── NotText       it cannot be read, or written, as text without losing something
    ├── TooLarge      the file exceeds the size limit
    └── Failed        the operating system refused the operation: no permission, no space
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import re
import stat
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from ...core.visible import BLANK
from ...log import logger, suppressed

_log = logger(__name__)

MAX_PATH = 4096
"""The longest path, in characters: what Linux accepts in one call. A longer one only costs time."""

MAX_LINKS = 40
"""The most symlinks in a path, as in Linux: more of them form a loop."""

MAX_NEW_FOLDERS = 64
"""Folders that one write may create: deeper than any project, and each keeps a descriptor open."""

SYSTEM = ("/proc", "/sys", "/dev")
"""Never accessible, even if a root is above them: /proc/self/environ contains the kernel's secrets."""

SYSTEM_EXCEPT = "/dev/shm"
"""Shared memory, where people do work."""

_SHOWN_PATH = 300
"""Characters of a path in a message; more would not help."""


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
    """The path for messages: one line, with every character visible."""
    if len(path) > _SHOWN_PATH:
        path = f"{path[: _SHOWN_PATH // 2]}…{path[-_SHOWN_PATH // 2 :]}"
    return "".join(char if char.isprintable() and not BLANK.match(char) else _named(char) for char in path)


def _named(char: str) -> str:
    point = ord(char)
    # Python's representation of a byte in a name that is not UTF-8.
    name = f"0x{point - 0xDC00:02X}" if 0xDC80 <= point <= 0xDCFF else f"U+{point:04X}"
    return f"\u2039{name}\u203a"


class ResolvedPath(Struct, frozen=True):
    """A path inside a root, without `..` and symlinks at the time when it was resolved."""

    asked: str
    """As the agent wrote it."""
    root: str
    parts: tuple[str, ...]
    """The names below the root; empty for the root itself."""
    folder: bool
    """Whether it can only mean a folder: the root itself, or a path with a slash at the end."""
    named: str = ""
    """The path for display: as the agent wrote it, with the root's real path; links in it are kept."""

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
    """The folders of a session, its working directory first.

    They are resolved once: if a root is a symlink that changes later, the agent does not follow it.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._spellings = {folder.rstrip("/"): _real(_checked(folder)) for folder in folders}
        self.folders = tuple(dict.fromkeys(self._spellings.values()))

    @property
    def on_disk(self) -> tuple[str, ...]:
        """Those of the folders that are on this machine."""
        return self.folders

    def real(self, path: str) -> str:
        """The absolute path without `..` and symlinks. Blocks."""
        return os.path.realpath(path)

    def resolve(self, path: str) -> ResolvedPath:
        """Resolve the path, whether or not the file exists; raises Outside if it leaves the roots."""
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise Refused("this client has no file access on Windows: the agent must use its own tools")
        real = _real(_checked(path))
        if _below(real, SYSTEM) and not _below(real, (SYSTEM_EXCEPT,)):
            raise Outside(f"{visible(path)} belongs to the operating system, not to the session's folders")
        # The deepest root first, so that as few folders as possible must exist already.
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


class ElsewhereRoots(Roots):
    """The folders of a session whose agent is on another machine: names only, never looked up on this one."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._spellings = {}
        self.folders = tuple(dict.fromkeys(map(self.real, folders)))

    @property
    def on_disk(self) -> tuple[str, ...]:
        return ()

    def real(self, path: str) -> str:
        return posixpath.normpath(path)

    def resolve(self, path: str) -> ResolvedPath:
        raise Outside(f"{visible(path)} is on the agent's own machine, which this client cannot access")


class Folder(Struct, frozen=True):
    """An open folder; use `fd` only for `dir_fd=`."""

    fd: int
    made: list[tuple[int, str]] = field(default_factory=list)
    """The folders that were created on the way, each with the descriptor of its parent."""


@contextlib.contextmanager
def parent_of(place: ResolvedPath, *, create: bool = False) -> Iterator[Folder]:
    """Open the folder of the file; folders that were created for it are removed if the block fails."""
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
            with suppressed(_log, OSError):  # not empty: another process has created something there
                os.rmdir(name, dir_fd=holder)
        raise
    finally:
        for open_fd in {fd, *(holder for holder, _ in made)}:
            os.close(open_fd)


def _step(fd: int, name: str, place: ResolvedPath, made: list[tuple[int, str]] | None) -> int:
    """Open the next folder; `made` records it if it had to be created, None: do not create it."""
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
        return  # another process was faster: use its folder, and never remove it
    made.append((fd, name))


def _no_folder(fd: int, name: str, place: ResolvedPath) -> Refused:
    with suppressed(_log, OSError):
        if not stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
            return Refused(f"{place.shown} cannot exist: {visible(name)} in it is not a folder")
    return swapped(place)


def swapped(place: ResolvedPath) -> Refused:
    return Refused(f"{place.shown} changed while it was opened: try again")


def _folder_flags() -> int:
    # O_PATH needs no permission to list a folder, which /home often denies.
    return getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _checked(path: str) -> str:
    if not path:
        raise BadRequest("the path is empty: give the absolute path of a file")
    if len(path) > MAX_PATH:
        raise BadRequest(f"the path is too long ({len(path)} characters): {visible(path)}")
    if "\0" in path:
        raise BadRequest(f"the path contains a NUL character: {visible(path)}")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise BadRequest(f"the path cannot be the name of a file: {visible(path)}") from None
    if not path.startswith("/"):
        raise BadRequest(f"the path must be absolute, and {visible(path)} is relative")
    return path


def _real(path: str) -> str:
    """The path without `..` and symlinks, as the operating system resolves it; missing parts are kept."""
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
            raise Refused(f"the symlinks in {visible(path)} form a loop")
        if target.startswith("/"):
            done = "/"
        todo.extend(target.split("/")[::-1])
    return done


def _target(here: str, path: str) -> str | None:
    """The target of a symlink; None for everything else."""
    try:
        return os.readlink(here)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise BadRequest(f"a name in the path is too long: {visible(path)}") from None
        return None  # not a symlink, missing, or not accessible: the walk to it will report that


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
