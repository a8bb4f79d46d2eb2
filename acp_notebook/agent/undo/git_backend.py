"""Checkpoints of a folder in a private git repository outside of it, invisible to the user's git.

A checkpoint is a tree of that repository. git keeps only one bit of a file's mode, so `Tree` keeps the rest.
Knows nothing about turns. Blocks, so call it on a work thread.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from ... import timeouts
from ...core.changes import PathChange, Version
from .backend import Checkpoint, CheckpointUnavailable
from .git import Git, GitTrouble, ignored_among, program, tree_entries
from .repository import Repository
from .scan import FullScan, Tree, changed_lately, with_modes

REPOSITORY = "the repository itself is not covered"

MOST_TURN = 512 * 2**20
"""Total size of the file states of one turn. Files beyond it are listed but cannot be undone."""

TOO_MUCH = f"the turn changed too much to keep all of it (more than {MOST_TURN >> 20} MB)"

NESTED = "it was in a nested repository, which is not covered: its earlier state is not known"
IGNORED = "git ignored it before: its earlier state is not known"

IGNORE_FILE = ".gitignore"

_LINK, _NESTED = 0o120000, 0o160000


class GitBackend:
    """Makes checkpoints of the folder `root` with git. `top`: the top of the user's repository, or `root`."""

    description = "by git"

    def __init__(self, root: str, base: Path | None = None) -> None:
        """Raises CheckpointUnavailable if git or the state folder cannot be used."""
        self.root = root
        if program() is None:
            raise CheckpointUnavailable("git is not installed")
        self.top = top_of(root) or root
        below = os.path.relpath(root, self.top) if root != self.top else ""
        self._pathspec = ("--", below) if below else ("--",)
        try:
            self._repository = Repository(root, self.top, base)
        except OSError as error:
            raise CheckpointUnavailable(f"the state folder cannot be used: {error}") from None
        self._git = self._repository.git
        self._comparing = self._git.another(self._repository.store.folder / "no-index")
        """Its index does not exist: git reads the index even for commands that do not need it."""
        self._lock = threading.Lock()
        self._ready = False
        self._scanned = False
        """Whether this session or the one before filled the index."""
        self._modes: dict[str, int] = {}
        self._lately: set[str] = set()
        """Files whose mode may change unnoticed by git: see `changed_lately`."""
        self._nested: tuple[str, ...] = ()

    @property
    def git_dir(self) -> Path:
        """The private repository, which exists after the first checkpoint."""
        return self._repository.git_dir

    @property
    def notes(self) -> tuple[str, ...]:
        nested = listed([f"{it}/" for it in self._nested])
        return (f"nested repositories are not covered: {nested}",) if nested else ()

    # ---- checkpoints ----------------------------------------------------------------------------

    def mark(self) -> Checkpoint:
        """Make a checkpoint of the folder as it is now. Raises CheckpointUnavailable."""
        with self._lock:
            try:
                self._prepare()
                limits = timeouts.get()
                return self._scan(limits.git_scan if self._scanned else limits.git_first_scan)
            except (GitTrouble, OSError) as error:
                raise CheckpointUnavailable(str(error)) from None

    def _prepare(self) -> None:
        if self._ready:
            return
        self._repository.make()
        if (modes := self._repository.take_over()) is not None:
            self._modes, self._scanned = modes, True
        self._modes = with_modes(self._modes, self.top, self._repository.add_tracked(self._pathspec))
        self._ready = True

    def _scan(self, limit: float) -> Checkpoint:
        self._repository.unlock()
        if not os.path.isdir(self.top):
            return self._without_folder(limit)
        seen = FullScan(self._git, self.top, self._pathspec, limit).all()
        looked_at = {*seen.touched, *self._lately}
        self._modes = with_modes(self._modes, self.top, looked_at)
        self._lately = changed_lately(self.top, looked_at)
        self._nested, self._scanned = tuple(seen.nested), True
        tree = Tree(seen.tree, self._modes, seen.large, self._repository.is_users, self._nested)
        return Checkpoint(tree, frozenset(os.path.join(self.top, it) for it in seen.empty))

    def _without_folder(self, limit: float) -> Checkpoint:
        """The checkpoint of a deleted folder, which git would not scan: all its files count as deleted."""
        self._git.run("read-tree", "--empty", limit=limit)
        self._modes, self._nested = {}, ()
        return Checkpoint(Tree(self._git.run("write-tree", limit=limit).decode().strip()))

    def kill(self) -> None:
        self._git.kill()
        self._comparing.kill()

    def close(self) -> None:
        self.kill()
        with self._lock:
            if self._scanned:
                self._repository.hand_on(self._modes)
            self._repository.close()

    # ---- comparing ------------------------------------------------------------------------------

    def compare(self, before: Checkpoint, after: Checkpoint) -> Iterator[PathChange]:
        """Yield every path that differs. Raises CheckpointUnavailable."""
        with self._lock:
            try:
                yield from compare(self._comparing, self._git, self.top, before.state, after.state)
                if before.state.repository and not after.state.repository:
                    yield PathChange(os.path.join(self.top, ".git/"), why_not=REPOSITORY, action="deleted")
            except (GitTrouble, OSError) as error:
                raise CheckpointUnavailable(str(error)) from None


def listed(paths: list[str], most: int = 5) -> str:
    return ", ".join(paths[:most]) + (f" and {len(paths) - most} more" if len(paths) > most else "")


def top_of(folder: str) -> str | None:
    """The top of the repository that contains the folder, or None."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


class _Entry(Struct, frozen=True):
    path: str
    sides: tuple[tuple[int, str], tuple[int, str]]
    """Mode and object id, before and after. Mode 0: the file does not exist."""

    @property
    def oids(self) -> list[str]:
        return [oid for mode, oid in self.sides if mode]

    @property
    def action(self) -> str:
        (old, _), (new, _) = self.sides
        return "created" if not old else "deleted" if not new else "modified"


def compare(git: Git, rules: Git, top: str, before: Tree, after: Tree) -> Iterator[PathChange]:
    """Yield the paths that differ between two trees. `rules` knows the ignore files. Raises GitTrouble."""
    unknown = {*before.large, *after.large}
    entries = [it for it in _differing(git, before, after) if it.path not in unknown]
    for path, why in (uncovered := _uncovered_before(rules, before, entries)).items():
        yield PathChange(os.path.join(top, path), why_not=why)
    entries = [it for it in entries if it.path not in uncovered]
    blobs = _blobs(git, [oid for it in entries for oid in it.oids])
    for entry in entries:
        path = os.path.join(top, entry.path)
        if any(oid not in blobs for oid in entry.oids):
            yield PathChange(path, why_not=TOO_MUCH, action=entry.action)
            continue
        one, other = (
            _version(mode, blobs[oid], tree.modes.get(entry.path)) if mode else None
            for (mode, oid), tree in zip(entry.sides, (before, after), strict=True)
        )
        if one != other:
            yield PathChange(path, one, other)
    yield from _not_kept(top, before, after)


def _differing(git: Git, before: Tree, after: Tree) -> list[_Entry]:
    found: list[_Entry] = []
    if before.id != after.id:
        words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before.id, after.id)
        fields = git.run(*words).split(b"\0")
        for head, path in zip(fields[::2], fields[1::2], strict=False):
            old, new, old_id, new_id, _ = head.decode().lstrip(":").split()
            found.append(_Entry(os.fsdecode(path), (_side(int(old, 8), old_id), _side(int(new, 8), new_id))))
    return found + _other_modes(git, before, after, {it.path for it in found})


def _uncovered_before(rules: Git, before: Tree, entries: Sequence[_Entry]) -> dict[str, str]:
    """Files that look new but may have existed, each with the reason: undoing must not delete them."""
    new = [it.path for it in entries if it.action == "created"]
    found = {it: NESTED for it in new if it.startswith(tuple(f"{folder}/" for folder in before.nested))}
    if new and any(os.path.basename(it.path) == IGNORE_FILE for it in entries):
        found |= dict.fromkeys(_ignored_before(rules, before, new), IGNORED)
    return found


def _ignored_before(rules: Git, before: Tree, paths: Sequence[str]) -> set[str]:
    """The paths that the ignore files of the earlier tree match."""
    folders = {"/".join(it.split("/")[:depth]) for it in paths for depth in range(it.count("/") + 1)}
    files = tree_entries(rules, before.id, sorted(os.path.join(it, IGNORE_FILE) for it in folders))
    blobs = _blobs(rules, [oid for _, _, oid in files])
    with tempfile.TemporaryDirectory(prefix="acp-notebook-") as work_tree:
        for path, mode, oid in files:
            if mode != _LINK and oid in blobs:
                place = os.path.join(work_tree, path)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "wb") as file:
                    file.write(blobs[oid])
        return ignored_among(rules, paths, work_tree)


def _other_modes(git: Git, before: Tree, after: Tree, known: set[str]) -> list[_Entry]:
    """Files of which only the mode bits changed that git does not keep."""
    if before.modes is after.modes:
        return []
    changed = {path for path, _ in before.modes.items() ^ after.modes.items()} - known - after.large.keys()
    return [
        _Entry(path, (_side(mode, oid), _side(mode, oid)))
        for path, mode, oid in tree_entries(git, after.id, sorted(changed))
    ]


def _side(mode: int, oid: str) -> tuple[int, str]:
    return (0 if mode == _NESTED else mode, oid)


def _version(mode: int, data: bytes, kept_mode: int | None) -> Version:
    if mode == _LINK:
        return Version(data, 0o777, link=True)
    return Version(data, kept_mode if kept_mode is not None else mode & 0o777)


def _blobs(git: Git, wanted: list[str]) -> dict[str, bytes]:
    """The content of the objects by id, up to MOST_TURN bytes in total."""
    blobs: dict[str, bytes] = {}
    if not wanted:
        return blobs
    total = 0
    ids = [f"{oid}\n".encode() for oid in dict.fromkeys(wanted)]
    with git.start("cat-file", "--batch", "--buffer", given=ids) as reading:
        for _ in ids:
            oid, kind, *size = reading.stdout.readline().decode().split()
            if kind != "blob":
                continue  # missing
            total += int(size[0])
            if total > MOST_TURN:
                return blobs
            blobs[oid] = reading.stdout.read(int(size[0]))
            reading.stdout.read(1)
    return blobs


def _not_kept(top: str, before: Tree, after: Tree) -> Iterator[PathChange]:
    for path in sorted({*before.large, *after.large}):
        one, other = before.large.get(path), after.large.get(path)
        if one != other:
            action = "deleted" if not os.path.lexists(os.path.join(top, path)) else "modified"
            why = next(it.why for it in (other, one) if it is not None)
            yield PathChange(os.path.join(top, path), why_not=why, action=action)
