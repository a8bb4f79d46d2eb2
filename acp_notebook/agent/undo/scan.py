"""A scan of a whole folder by git: our own index is brought up to date with the disk, and becomes a tree.

Knows git's plumbing and how files are told apart; nothing of turns. The index is a cache of what files looked
like: a later scan costs the status of each file, and a read of those that changed. Blocks, so it belongs on a
thread.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..files.file_state import ATTEMPTS, MOST_FILE
from .backend import CheckpointUnavailable
from .git import Git, GitTrouble, ignored_among, lines, names

MOST_FILES = 200_000
"""Of one folder: more are a disk, not a project."""

MOST_BYTES = 2 * 2**30
"""… and bytes, of what is not ignored."""

ONE_BY_ONE = 1_000
"""Paths that git is told by name; beyond that it looks for itself, and packs what it finds."""


TOO_LARGE = f"too large to be kept (more than {MOST_FILE >> 20} MB)"
CLOSED = "we may not read it, so it cannot be kept"
UNSTEADY = "it was being written while it was looked at, so it could not be kept"

PLAIN_MODES = (0o644, 0o755)
"""The modes that git keeps."""

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
    """The state of a checkpoint. What it holds is never changed, so checkpoints share it."""

    id: str
    modes: dict[str, int] = field(default_factory=dict)
    """Of files with another mode than 644 or 755."""
    large: dict[str, NotKept] = field(default_factory=dict)
    """Files that are not kept."""
    repository: bool = False
    """The user has a repository there."""


def not_kept(path: str, status: os.stat_result) -> NotKept | None:
    """Why a file cannot be kept, if so."""
    if not stat.S_ISREG(status.st_mode):
        return None
    if status.st_size > MOST_FILE:
        return NotKept(status.st_size, status.st_ctime_ns, TOO_LARGE)
    return None if os.access(path, os.R_OK) else NotKept(status.st_size, status.st_ctime_ns, CLOSED)


def with_modes(modes: dict[str, int], top: str, paths: Iterable[str]) -> dict[str, int]:
    """The modes with those of these paths brought up to date; the given dict is not changed."""
    made: dict[str, int] | None = None
    for path in paths:
        found = _mode(os.path.join(top, path))
        if found != modes.get(path):
            made = dict(modes) if made is None else made
            made.pop(path, None)
            made |= {} if found is None else {path: found}
    return modes if made is None else made


def _mode(path: str) -> int | None:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    bits = stat.S_IMODE(mode)
    return bits if stat.S_ISREG(mode) and bits not in PLAIN_MODES else None


def changed_lately(top: str, paths: Iterable[str]) -> set[str]:
    """Files that git may take for unchanged when their mode changes now: it dates them by the second."""
    since = time.time_ns() - LATELY_NS
    return {it for it in paths if signature(os.path.join(top, it))[1] > since}


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


@dataclass
class ScanResult:
    """What a scan found."""

    tree: str = ""
    touched: list[str] = field(default_factory=list)
    """Paths that were looked at since they changed."""
    large: dict[str, NotKept] = field(default_factory=dict)
    nested: list[str] = field(default_factory=list)
    """Folders that are repositories of their own."""
    empty: list[str] = field(default_factory=list)
    """Folders with nothing in them."""


class FullScan:
    """One look, by this git, which has the folder as its work tree."""

    def __init__(self, git: Git, top: str, pathspec: tuple[str, ...], limit: float) -> None:
        self._git = git
        self._top = top
        self._pathspec = pathspec
        self._limit = limit

    def all(self) -> ScanResult:
        """Raises CheckpointUnavailable, GitTrouble, OSError."""
        seen = ScanResult()
        changed, new, filled = self._scan(seen)
        seen.touched, seen.large = self._taken([*changed, *new], seen.nested)
        seen.empty += self._emptied(changed)
        if filled:  # what is empty within them is told apart now that git knows the rest
            for folder in self._others()[1]:
                seen.empty += empty_below(os.path.join(self._top, folder), self._top)
        ignored = ignored_among(self._git, seen.empty)
        seen.empty = [it for it in seen.empty if it not in ignored]
        seen.tree = self._run("write-tree").decode().strip()
        return seen

    def _run(self, *words: str, given: Iterable[bytes] = ()) -> bytes:
        return self._git.run(*words, given=given, limit=self._limit)

    def _others(self) -> tuple[list[str], list[str]]:
        """Files, and folders as a whole, that git does not know yet."""
        words = ("ls-files", "-o", "--exclude-standard", "--directory", "-z", *self._pathspec)
        return _apart(names(self._run(*words)))

    def _scan(self, seen: ScanResult) -> tuple[list[str], list[str], bool]:
        """Paths that changed, those that are new, and whether there are new folders with files in them."""
        with (
            self._git.start("diff-files", "-z", "--name-only", *self._pathspec) as one,
            self._git.start(
                "ls-files", "-o", "--exclude-standard", "--directory", "-z", *self._pathspec
            ) as two,
        ):
            changed, others = names(one.output(self._limit)), names(two.output(self._limit))
        new, folders = _apart(others)
        seen.nested, seen.empty, filled = self._folders(folders)
        # A folder where git knows a file is not told as a folder.
        filled = filled or any(is_folder(os.path.join(self._top, it)) for it in changed)
        if filled:
            more = names(self._run("ls-files", "-o", "--exclude-standard", "-z", *self._pathspec))
            inner = [it.rstrip("/") for it in more if it.endswith("/")]
            seen.nested += [it for it in inner if it not in seen.nested]
            known = set(new)
            new += [it for it in more if not it.endswith("/") and it not in known]
        return changed, new, filled

    def _folders(self, folders: Iterable[str]) -> tuple[list[str], list[str], bool]:
        """Repositories of their own, empty folders, and whether others have something in them."""
        nested: list[str] = []
        empty: list[str] = []
        filled = False
        for folder in folders:
            path = os.path.join(self._top, folder)
            if os.path.lexists(os.path.join(path, ".git")):
                nested.append(folder)
            elif (found := hollow(path, self._top)) is not None:
                empty += found
            else:
                filled = True
        return nested, empty, filled

    def _emptied(self, changed: Iterable[str]) -> list[str]:
        """Folders whose last file is gone: git does not tell them apart from one that it knows."""
        found: set[str] = set()
        gone = [it for it in changed if is_folder(p := os.path.join(self._top, it)) or not os.path.lexists(p)]
        for folder in {it if is_folder(os.path.join(self._top, it)) else os.path.dirname(it) for it in gone}:
            while folder and not is_folder(os.path.join(self._top, folder)):
                folder = os.path.dirname(folder)
            if folder:
                found.update(hollow(os.path.join(self._top, folder), self._top) or ())
        return sorted(found)

    # ---- what changed, into the index -----------------------------------------------------------

    def _taken(self, paths: list[str], nested: list[str]) -> tuple[list[str], dict[str, NotKept]]:
        """Have git take these; what somebody is writing just now is left out in the end."""
        touched, large = self._sorted(paths)
        for _ in range(ATTEMPTS):
            before = {it: signature(os.path.join(self._top, it)) for it in touched}
            try:
                self.update(touched, large, nested)
                return touched, large
            except GitTrouble:
                moving = {it for it, was in before.items() if signature(os.path.join(self._top, it)) != was}
                if not moving:
                    raise
                large |= {it: NotKept(*before[it][:2], UNSTEADY) for it in moving}
                touched = [it for it in touched if it not in moving]
        raise GitTrouble("files keep changing while they are looked at")

    def _sorted(self, paths: list[str]) -> tuple[list[str], dict[str, NotKept]]:
        """What git is to look at; and files that are too large for us, or closed to us."""
        if len(paths) > MOST_FILES:
            raise CheckpointUnavailable(f"there are more than {MOST_FILES:,} files")
        touched: list[str] = []
        large: dict[str, NotKept] = {}
        total = 0
        for path in paths:
            whole = os.path.join(self._top, path)
            try:
                status = os.lstat(whole)
            except OSError:
                touched.append(path)  # it is gone
                continue
            if (why := not_kept(whole, status)) is not None:
                large[path] = why
                continue
            total += status.st_size
            touched.append(path)
        if total > MOST_BYTES:
            raise CheckpointUnavailable(f"there is more than {MOST_BYTES >> 30} GB in it")
        return touched, large

    def update(self, touched: list[str], large: Iterable[str], nested: list[str]) -> None:
        gone = [*large, *(it for it in touched if is_no_file(os.path.join(self._top, it)))]
        if gone:  # git stops at a pipe where it knows a file, and would read a large one
            self._run("update-index", "-z", "--force-remove", "--stdin", given=lines(gone))
        if len(touched) > ONE_BY_ONE:
            self._add_all([*large, *nested])
        elif touched:
            here = sorted(
                set(touched) - set(gone), key=lambda it: os.path.lexists(os.path.join(self._top, it))
            )
            words = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
            self._run(*words, given=lines(here))

    def _add_all(self, but: list[str]) -> None:
        """git looks for itself. What it leaves out is told to it alone: others use the repository, too."""
        places = self._pathspec[1:]
        if not but:
            self._run("add", "-A", "--", *(places or (".",)))
            return
        chosen = [f":(top,literal){it}" for it in places] or [":(top)"]
        given = lines([*chosen, *(f":(top,exclude,literal){it}" for it in but)])
        words = ("add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul")
        self._run("--no-literal-pathspecs", *words, given=given)


def _apart(paths: list[str]) -> tuple[list[str], list[str]]:
    return [it for it in paths if not it.endswith("/")], [it.rstrip("/") for it in paths if it.endswith("/")]
