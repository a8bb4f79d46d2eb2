"""A look at all of a folder by git: our own index is brought up to date with the disk, and becomes a tree.

Knows git's plumbing; nothing of turns, nor of a watch. The index is a cache of what files looked like: a
later look costs the status of each file, and a read of those that changed. Blocks, so it belongs on a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from .covers import NotCovered
from .git import Git, GitTrouble, ignored_among, lines, names
from .trees import UNSTEADY, NotKept, empty_below, hollow, is_folder, is_no_file, not_kept, signature
from .versions import ATTEMPTS

MOST_FILES = 200_000
"""Of one folder: more are a disk, not a project."""

MOST_BYTES = 2 * 2**30
"""… and bytes, of what is not ignored."""

ONE_BY_ONE = 1_000
"""Paths that git is told by name; beyond that it looks for itself, and packs what it finds."""


@dataclass
class Seen:
    """What a look found."""

    tree: str = ""
    touched: list[str] = field(default_factory=list)
    """Paths that were looked at since they changed."""
    large: dict[str, NotKept] = field(default_factory=dict)
    nested: list[str] = field(default_factory=list)
    """Folders that are repositories of their own."""
    empty: list[str] = field(default_factory=list)
    """Folders with nothing in them."""


class Look:
    """One look, by this git, which has the folder as its work tree."""

    def __init__(self, git: Git, top: str, pathspec: tuple[str, ...], limit: float) -> None:
        self._git = git
        self._top = top
        self._pathspec = pathspec
        self._limit = limit

    def all(self) -> Seen:
        """Raises NotCovered, GitTrouble, OSError."""
        seen = Seen()
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

    def _scan(self, seen: Seen) -> tuple[list[str], list[str], bool]:
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
            raise NotCovered(f"there are more than {MOST_FILES:,} files")
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
            raise NotCovered(f"there is more than {MOST_BYTES >> 30} GB in it")
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
