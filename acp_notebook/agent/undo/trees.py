"""What a folder was at one moment: a tree of git's, what is kept beside it, and how files are told apart.

Knows no git command and no turn.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from .versions import MOST_FILE

TOO_LARGE = f"too large to be kept (more than {MOST_FILE >> 20} MB)"
CLOSED = "we may not read it, so it cannot be kept"
UNSTEADY = "it was being written while it was looked at, so it could not be kept"

PLAIN_RIGHTS = (0o644, 0o755)
"""Those that git knows."""

MOST_FOLDERS = 2_000
"""Of those without a file that counts: where data is, there may be millions."""

LATELY_NS = 2_000_000_000

Signature = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class NotKept:
    """A file that is too large, closed to us, or being written."""

    size: int
    changed: int
    why: str


@dataclass(frozen=True, slots=True)
class Tree:
    """The state of a mark. What it holds is never changed, so marks share it."""

    id: str
    rights: dict[str, int] = field(default_factory=dict)
    """Of files that have others than 644 or 755."""
    large: dict[str, NotKept] = field(default_factory=dict)
    """Files that are not kept."""
    repository: bool = False
    """The user has one there."""
    ignored: frozenset[str] | None = None
    """Places that git's rules ignore, where a watch knows them; a folder ends with "/"."""


def not_kept(path: str, status: os.stat_result) -> NotKept | None:
    """Why a file cannot be kept, if so."""
    if not stat.S_ISREG(status.st_mode):
        return None
    if status.st_size > MOST_FILE:
        return NotKept(status.st_size, status.st_ctime_ns, TOO_LARGE)
    return None if os.access(path, os.R_OK) else NotKept(status.st_size, status.st_ctime_ns, CLOSED)


def with_rights(rights: dict[str, int], top: str, paths: Iterable[str]) -> dict[str, int]:
    """These brought up to date; the given ones stay as they are."""
    made: dict[str, int] | None = None
    for path in paths:
        found = _rights(os.path.join(top, path))
        if found != rights.get(path):
            made = dict(rights) if made is None else made
            made.pop(path, None)
            made |= {} if found is None else {path: found}
    return rights if made is None else made


def _rights(path: str) -> int | None:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    rights = stat.S_IMODE(mode)
    return rights if stat.S_ISREG(mode) and rights not in PLAIN_RIGHTS else None


def changed_lately(top: str, paths: Iterable[str], at: int) -> set[str]:
    """Files that git may take for unchanged when their rights change now: it dates them by the second."""
    return {it for it in paths if signature(os.path.join(top, it))[1] > at - LATELY_NS}


def signature(path: str) -> Signature:
    """What changes whenever a file is written: its size, its time of change, and which file it is."""
    try:
        return signature_of(os.lstat(path))
    except OSError:
        return (0, 0, 0)


def signature_of(status: os.stat_result) -> Signature:
    return (status.st_size, status.st_ctime_ns, status.st_ino)


def is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def is_no_file(path: str) -> bool:
    """A folder, a pipe, a socket, a device."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISLNK(mode)


def is_kept(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_size <= MOST_FILE)


def hollow(path: str, top: str) -> list[str] | None:
    """The folders in which there is nothing, if there is no file below; None: there are files."""
    found: list[str] = []
    for place, folders, files in os.walk(path):
        if files:
            return None
        if not folders:
            found.append(os.path.relpath(place, top))
        elif any(os.path.islink(os.path.join(place, it)) for it in folders):
            return None
    return found


def empty_below(path: str, top: str) -> list[str]:
    """The folders in which there is nothing, whatever is beside them; not in repositories."""
    found: list[str] = []
    for number, (place, folders, files) in enumerate(os.walk(path)):
        if number == MOST_FOLDERS:
            break
        if ".git" in folders or ".git" in files:
            folders.clear()
        elif not folders and not files:
            found.append(os.path.relpath(place, top))
    return found
