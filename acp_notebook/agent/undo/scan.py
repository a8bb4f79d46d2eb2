"""Scans a whole folder with git: updates a private index from the disk and writes it as a tree.

The index caches the status of files, so a later scan costs one stat per file and reads only those that
changed. Knows git's plumbing and nothing about turns. Blocks, so call it on a work thread.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable

from msgspec import Struct, field

from ..files.file_state import ATTEMPTS, MOST_FILE
from .backend import CheckpointUnavailable
from .git import Git, GitTrouble, ignored_among, lines, names

MOST_FILES = 200_000
"""Limit of changed files in one folder: more are a disk, not a project."""

MOST_BYTES = 2 * 2**30
"""Limit of their total size."""

ONE_BY_ONE = 1_000
"""Up to this many paths are passed to git by name; for more, git searches the folder and packs them."""

TOO_LARGE = f"too large to be kept (more than {MOST_FILE >> 20} MB)"
CLOSED = "it is not readable, so it cannot be kept"
UNSTEADY = "it was being written during the scan, so it could not be kept"

PLAIN_MODES = (0o644, 0o755)
"""The modes that git keeps."""

MOST_FOLDERS = 2_000
"""Limit for the search for empty folders: a data folder may contain millions."""

LATELY_NS = 2_000_000_000

OTHERS = ("ls-files", "-o", "--exclude-standard", "--directory", "-z")
"""Lists the files and the whole folders that git does not track yet."""

Signature = tuple[int, int, int]


class NotKept(Struct, frozen=True):
    """A file that is too large, unreadable, or being written."""

    size: int
    changed: int
    why: str


class Tree(Struct, frozen=True):
    """The state of a checkpoint. Its dicts are never modified, so checkpoints share them."""

    id: str
    modes: dict[str, int] = field(default_factory=dict)
    """Modes of files other than 644 and 755."""
    large: dict[str, NotKept] = field(default_factory=dict)
    """Files that are not kept."""
    repository: bool = False
    """Whether the user has a repository in the folder."""
    nested: tuple[str, ...] = ()
    """Nested repositories, which are not covered."""


def not_kept(path: str, status: os.stat_result) -> NotKept | None:
    """Why the file cannot be kept, or None if it can."""
    if not stat.S_ISREG(status.st_mode):
        return None
    if status.st_size > MOST_FILE:
        return NotKept(status.st_size, status.st_ctime_ns, TOO_LARGE)
    return None if os.access(path, os.R_OK) else NotKept(status.st_size, status.st_ctime_ns, CLOSED)


def with_modes(modes: dict[str, int], top: str, paths: Iterable[str]) -> dict[str, int]:
    """Return `modes` updated for these paths, without modifying it."""
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
    """Files whose next mode change git may miss: it compares times by the second."""
    since = time.time_ns() - LATELY_NS
    return {it for it in paths if signature(os.path.join(top, it))[1] > since}


def signature(path: str) -> Signature:
    """Size, ctime and inode: at least one changes whenever the file is written."""
    try:
        return signature_of(os.lstat(path))
    except OSError:
        return (0, 0, 0)


def signature_of(status: os.stat_result) -> Signature:
    return (status.st_size, status.st_ctime_ns, status.st_ino)


def is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def is_no_file(path: str) -> bool:
    """Whether the path is a folder, pipe, socket or device."""
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


def empty_tree(path: str, top: str) -> list[str] | None:
    """The empty folders below `path`, relative to `top`, or None if there are files below it."""
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
    """The empty folders below `path`, relative to `top`, outside nested repositories."""
    found: list[str] = []
    for number, (place, folders, files) in enumerate(os.walk(path)):
        if number == MOST_FOLDERS:
            break
        if ".git" in folders or ".git" in files:
            folders.clear()
        elif not folders and not files:
            found.append(os.path.relpath(place, top))
    return found


class ScanResult(Struct):
    """What a scan found."""

    tree: str = ""
    touched: list[str] = field(default_factory=list)
    """Changed paths that were added to the index."""
    large: dict[str, NotKept] = field(default_factory=dict)
    nested: list[str] = field(default_factory=list)
    """Nested repositories."""
    empty: list[str] = field(default_factory=list)
    """Empty folders."""


class FullScan:
    """Performs one scan of the work tree of `git`."""

    def __init__(
        self, git: Git, top: str, pathspec: tuple[str, ...], limit: float, *, base: str | None = None
    ) -> None:
        """`base`: the tree that the index has now, if it is known."""
        self._git = git
        self._top = top
        self._pathspec = pathspec
        self._limit = limit
        self._base = base

    def all(self) -> ScanResult:
        """Scan the folder. Raises CheckpointUnavailable, GitTrouble or OSError."""
        seen = ScanResult()
        changed, new, filled = self._scan(seen)
        seen.touched, seen.large = self._add([*changed, *new], seen.nested)
        seen.empty += self._emptied(changed)
        if filled:  # git knows their files now, so their empty folders can be found
            for folder in _split_folders(names(self._run(*OTHERS, *self._pathspec)))[1]:
                seen.empty += empty_below(os.path.join(self._top, folder), self._top)
        ignored = ignored_among(self._git, seen.empty)
        seen.empty = [it for it in seen.empty if it not in ignored]
        if self._base is not None and not changed and not new:
            seen.tree = self._base
        else:
            seen.tree = self._run("write-tree").decode().strip()
        return seen

    def _run(self, *words: str, given: Iterable[bytes] = ()) -> bytes:
        return self._git.run(*words, given=given, limit=self._limit)

    def _scan(self, seen: ScanResult) -> tuple[list[str], list[str], bool]:
        """The changed paths, the new paths, and whether new folders contain files."""
        with (
            self._git.start("diff-files", "-z", "--name-only", *self._pathspec) as one,
            self._git.start(*OTHERS, *self._pathspec) as two,
        ):
            changed, others = names(one.output(self._limit)), names(two.output(self._limit))
        new, folders = _split_folders(others)
        seen.nested, seen.empty, filled = self._folders(folders)
        # git does not list a folder that replaced a tracked file.
        filled = filled or any(is_folder(os.path.join(self._top, it)) for it in changed)
        if filled:
            more = names(self._run("ls-files", "-o", "--exclude-standard", "-z", *self._pathspec))
            inner = [it.rstrip("/") for it in more if it.endswith("/")]
            seen.nested += [it for it in inner if it not in seen.nested]
            known = set(new)
            new += [it for it in more if not it.endswith("/") and it not in known]
        return changed, new, filled

    def _folders(self, folders: Iterable[str]) -> tuple[list[str], list[str], bool]:
        """The nested repositories, the empty folders, and whether any other folder contains files."""
        nested: list[str] = []
        empty: list[str] = []
        filled = False
        for folder in folders:
            path = os.path.join(self._top, folder)
            if os.path.lexists(os.path.join(path, ".git")):
                nested.append(folder)
            elif (found := empty_tree(path, self._top)) is not None:
                empty += found
            else:
                filled = True
        return nested, empty, filled

    def _emptied(self, changed: Iterable[str]) -> list[str]:
        """Folders whose last file is gone. git still considers them tracked and does not list them."""
        found: set[str] = set()
        gone = [it for it in changed if is_folder(p := os.path.join(self._top, it)) or not os.path.lexists(p)]
        for folder in {it if is_folder(os.path.join(self._top, it)) else os.path.dirname(it) for it in gone}:
            while folder and not is_folder(os.path.join(self._top, folder)):
                folder = os.path.dirname(folder)
            if folder:
                found.update(empty_tree(os.path.join(self._top, folder), self._top) or ())
        return sorted(found)

    # ---- adding changes to the index ------------------------------------------------------------

    def _add(self, paths: list[str], nested: list[str]) -> tuple[list[str], dict[str, NotKept]]:
        """Add the paths to the index; return those added and those left out.

        Leaves out a file that keeps changing while git reads it.
        """
        touched, large = self._split_kept(paths)
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
        raise GitTrouble("files keep changing during the scan")

    def _split_kept(self, paths: list[str]) -> tuple[list[str], dict[str, NotKept]]:
        """Split the paths into those that git can add and those that are too large or unreadable."""
        if len(paths) > MOST_FILES:
            raise CheckpointUnavailable(f"the folder contains more than {MOST_FILES:,} files")
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
            raise CheckpointUnavailable(f"the folder contains more than {MOST_BYTES >> 30} GB")
        return touched, large

    def update(self, touched: list[str], large: Iterable[str], nested: list[str]) -> None:
        gone = [*large, *(it for it in touched if is_no_file(os.path.join(self._top, it)))]
        if gone:  # git fails at a pipe that replaced a tracked file, and would read a large file
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
        """Let git find and add all changes except `but`.

        Excludes them with pathspecs, not in info/exclude, which other sessions share.
        """
        places = self._pathspec[1:]
        if not but:
            self._run("add", "-A", "--", *(places or (".",)))
            return
        chosen = [f":(top,literal){it}" for it in places] or [":(top)"]
        given = lines([*chosen, *(f":(top,exclude,literal){it}" for it in but)])
        words = ("add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul")
        self._run("--no-literal-pathspecs", *words, given=given)


def _split_folders(paths: list[str]) -> tuple[list[str], list[str]]:
    return [it for it in paths if not it.endswith("/")], [it.rstrip("/") for it in paths if it.endswith("/")]
