"""A look at what a watch has noted, and at nothing else: the next tree is made of the last one and of these.

Knows git's plumbing (no index: that would cost for each file that nobody touched) and the disk; what was
noted, and by whom, is `watch`'s business. What it is not sure of is a `Doubt`. Blocks, so it belongs on a
thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from .git import Git, GitTrouble, ignored_among, tree_entries
from .trees import UNSTEADY, NotKept, Signature, Tree, is_folder, not_kept, signature_of, with_rights
from .versions import ATTEMPTS
from .watch import TELLING, Doubt, Watch

MOST_BYTES = 64 * 2**20
"""That are read here: beyond that git does it, which streams."""

MOST_PATHS = 5_000
"""In folders that are new, say: git packs so many better than it can be done here."""

MOST_EMPTY = 2_000
"""Empty folders that are looked at again each time."""

MOST_LINKED = 1_000
"""Files with several names: a write through another one is not told, so their status is looked at."""

RACY_NS = 100_000_000
"""The clock that files are dated with may tick as rarely: what changed so lately may change unseen."""


class Looked(NamedTuple):
    """What a look found: the tree, the empty folders, and the paths that were looked at for it."""

    tree: Tree
    empty: frozenset[str]
    paths: set[str]


@dataclass
class _Work:
    """One look, on its way."""

    paths: set[str] = field(default_factory=set)
    """Files that may be new, other or gone."""
    folders: set[str] = field(default_factory=set)
    """Folders that may be empty by now."""
    ignored: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    made: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Mode and bytes of the others."""
    large: dict[str, NotKept] = field(default_factory=dict)


class QuickLook:
    """Of one folder, as long as it is watched."""

    def __init__(self, top: str, ref: str, watch: Watch, linked: Iterable[str]) -> None:
        self._top = top
        self._ref = ref
        self._watch = watch
        self._linked: dict[str, Signature | None] = dict.fromkeys(linked)

    def next(self, git: Git, last: Tree, empty: frozenset[str], at: int) -> Looked:
        """What is there now; `last` and `empty` are of the last look.

        Raises Doubt, GitTrouble, OSError; then nothing is lost of what was noted.
        """
        self._watch.read()
        noted = self._watch.noted
        noted.files |= self._relinked(at)
        if not noted:
            return Looked(last, self._still_empty(empty), set())
        work = _Work(set(noted.files), set(noted.folders))
        trees = noted.outermost()
        known = {path for path, _, _ in tree_entries(git, last.id, sorted({*work.paths, *trees}))}
        self._enter(git, trees, known, work)
        self._leave_out_ignored(git, known, work)
        work.paths |= known
        again = self._read(work, at)
        tree = self._tree(git, last, known, work)
        now_empty = self._still_empty(empty) | self._newly_empty(git, work)
        noted.files, noted.trees, noted.folders = again, set(), set()
        return Looked(tree, now_empty, work.paths)

    # ---- which files ----------------------------------------------------------------------------

    def _enter(self, git: Git, trees: list[str], known: set[str], work: _Work) -> None:
        """Folders that came are watched, and all in them counts; level by level, for what is ignored."""
        level = [it for it in trees if self._is_watched_folder(it)]
        while level:
            ignored = ignored_among(git, level)
            if any(path.startswith(f"{it}/") for it in ignored for path in known):
                raise Doubt("a file that counts is in a folder that is ignored")
            work.ignored |= {f"{it}/" for it in ignored}
            level = [inner for it in level if it not in ignored for inner in self._entered(it, work)]
            if len(work.paths) > MOST_PATHS:
                raise Doubt("too much is new")

    def _is_watched_folder(self, path: str) -> bool:
        return os.path.dirname(path) in self._watch and is_folder(os.path.join(self._top, path))

    def _entered(self, folder: str, work: _Work) -> list[str]:
        """The folders in it."""
        if not self._watch.enter(folder):
            return []
        work.folders.add(folder)
        inner: list[str] = []
        try:
            with os.scandir(os.path.join(self._top, folder)) as entries:
                for entry in entries:
                    if entry.name in TELLING:
                        raise Doubt(f"{entry.name} is new")
                    path = os.path.join(folder, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        inner.append(path)
                    else:
                        work.paths.add(path)
        except FileNotFoundError:
            pass  # gone again, which is told
        return inner

    def _leave_out_ignored(self, git: Git, known: set[str], work: _Work) -> None:
        new = [
            it
            for it in sorted(work.paths - known)
            if os.path.dirname(it) in self._watch and os.path.lexists(os.path.join(self._top, it))
        ]
        ignored = ignored_among(git, new)
        work.paths -= ignored
        work.ignored |= ignored

    def _relinked(self, at: int) -> set[str]:
        """Files with several names that may have been written through another one."""
        found: set[str] = set()
        for path, was in self._linked.items():
            try:
                now = signature_of(os.lstat(os.path.join(self._top, path)))
            except OSError:
                now = (0, 0, 0)
            if now != was:
                found.add(path)
                self._linked[path] = now if now[1] < at - RACY_NS else None
        return found

    # ---- what they are --------------------------------------------------------------------------

    def _read(self, work: _Work, at: int) -> set[str]:
        """Those that are still to be noted: somebody is writing them."""
        again: set[str] = set()
        total = 0
        for path in sorted(work.paths):
            if os.path.dirname(path) not in self._watch:
                work.gone.add(path)  # the folder is gone, or something else is there
                continue
            found = self._state(path)
            if isinstance(found, NotKept):
                work.large[path] = found
                again |= {path} if found.why == UNSTEADY else set()
            elif found is not None:
                work.made[path] = found
                total += len(found[1])
            if found is None or isinstance(found, NotKept):
                work.gone.add(path)
            if total > MOST_BYTES:
                raise Doubt("too much has changed")
        return again

    def _state(self, path: str) -> tuple[int, bytes] | NotKept | None:
        """Mode and bytes; None: there is no file."""
        whole = os.path.join(self._top, path)
        for _ in range(ATTEMPTS):
            try:
                status = os.lstat(whole)
                if stat.S_ISLNK(status.st_mode):
                    return 0o120000, os.fsencode(os.readlink(whole))
                if not stat.S_ISREG(status.st_mode):
                    return None
                if status.st_nlink > 1 and path not in self._linked:
                    raise Doubt("a file has another name, who knows where")
                if (why := not_kept(whole, status)) is not None:
                    return why
                data = _bytes_of(whole)
                if signature_of(os.lstat(whole)) == signature_of(status) and len(data) == status.st_size:
                    return 0o100755 if status.st_mode & 0o100 else 0o100644, data
            except FileNotFoundError:
                return None
        return NotKept(status.st_size, status.st_ctime_ns, UNSTEADY)

    # ---- the tree -------------------------------------------------------------------------------

    def _tree(self, git: Git, last: Tree, known: set[str], work: _Work) -> Tree:
        gone = work.gone & known
        id = self._imported(git, last.id, gone, work) if gone or work.made else last.id
        large = last.large
        if work.large or any(it in large for it in work.paths):
            large = {path: it for path, it in large.items() if path not in work.paths} | work.large
        ignored = last.ignored
        if ignored is not None and not work.ignored <= ignored:
            ignored |= work.ignored
        rights = with_rights(last.rights, self._top, sorted(work.paths - work.large.keys()))
        return replace(last, id=id, rights=rights, large=large, ignored=ignored)

    def _imported(self, git: Git, last: str, gone: set[str], work: _Work) -> str:
        """git takes a tree and what differs from it, and says which tree that is."""
        given = [f"commit {self._ref}\ncommitter a <a> 0 +0000\ndata 0\nM 040000 {last} \n".encode()]
        given += [b"D %s\n" % _quoted(path) for path in sorted(gone)]
        for path, (mode, data) in sorted(work.made.items()):
            given += [b"M %o inline %s\ndata %d\n" % (mode, _quoted(path), len(data)), data, b"\n"]
        given += [b'ls ""\n', b"done\n"]
        said = git.run("fast-import", "--quiet", "--done", "--force", given=given).split()
        if len(said) < 3 or said[1] != b"tree":
            raise GitTrouble("git fast-import did not name a tree")
        return said[2].decode()

    # ---- empty folders --------------------------------------------------------------------------

    def _still_empty(self, empty: frozenset[str]) -> frozenset[str]:
        if len(empty) > MOST_EMPTY:
            raise Doubt("there are too many empty folders")
        still = frozenset(it for it in empty if self._is_empty(it))
        return empty if still == empty else still

    def _newly_empty(self, git: Git, work: _Work) -> frozenset[str]:
        places = {*work.folders, *(os.path.dirname(it) for it in work.gone)} - {""}
        here = [it for it in places if it in self._watch]
        if not all(_is_open(os.path.join(self._top, it)) for it in here):
            raise Doubt("a folder is closed to us")
        found = sorted(it for it in here if self._is_empty(it))
        return frozenset(found) - ignored_among(git, found)

    def _is_empty(self, folder: str) -> bool:
        path = os.path.join(self._top, folder)
        try:
            if os.path.islink(path):
                return False
            with os.scandir(path) as entries:
                return next(entries, None) is None
        except (FileNotFoundError, NotADirectoryError):
            return False


def _is_open(folder: str) -> bool:
    return os.access(folder, os.R_OK | os.X_OK) or not os.path.lexists(folder)


def _bytes_of(path: str) -> bytes:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    with open(os.open(path, flags), "rb") as file:
        return file.read()


def _quoted(path: str) -> bytes:
    """As git reads it, whatever is in it."""
    return b'"%s"' % b"".join(
        b"\\%03o" % byte if byte < 32 or byte > 126 or byte in b'"\\' else bytes([byte])
        for byte in os.fsencode(path)
    )
