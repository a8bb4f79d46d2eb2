"""Checkpoints of a folder by git: in a repository of ours, outside of it, that the user's git never sees.

Knows git's plumbing; nothing of turns. The index is ours too: its cache of what files looked like makes a
later checkpoint cost a look at each file's status, and a read of those that changed. git keeps one bit of
a file's rights: the others are kept beside it. Blocks, so it belongs on a thread.

So a later checkpoint does grow with the number of untouched files, by some 5 µs for each. A watch on the
folders (inotify) would tell sooner that nothing changed, but not surely: it misses what is written through a
mapping, by another machine on a network disk, in a folder that was made a moment ago. What it missed before a
turn could not be mended after it: the user's own edit would count as the agent's, and be undone with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...core.changes import Version
from .covers import Found, Mark, NotCovered
from .git import ATTRIBUTES, FIRST_S, OURS_S, Git, GitTrouble, lines, names, program
from .outside import Outside, listed
from .store import Store
from .versions import ATTEMPTS, MOST_FILE

MOST_FILES = 200_000
"""Of one folder: more are a disk, not a project."""

MOST_BYTES = 2 * 2**30
"""… and bytes, of what is not ignored."""

ONE_BY_ONE = 1_000
"""Paths that git is told by name; beyond that it looks for itself, and packs what it finds."""

MOST_TURN = 512 * 2**20
"""Bytes of all states that one turn changed: beyond that, files are named and cannot be undone."""

TOO_LARGE = f"too large to be kept (more than {MOST_FILE >> 20} MB)"
CLOSED = "we may not read it, so it cannot be kept"
UNSTEADY = "it was being written while it was looked at, so it could not be kept"
TOO_MUCH = f"the turn changed too much to keep it (more than {MOST_TURN >> 20} MB)"

REPOSITORY = "the repository itself is not covered"

_LINK, _NESTED = 0o120000, 0o160000

ALWAYS_IGNORED = ("__pycache__/", ".ipynb_checkpoints/")
NOT_A_REPOSITORY = ("node_modules/", ".venv/", "venv/", ".tox/", ".cache/", ".mypy_cache/", ".ruff_cache/")
"""Ignored where the user has no repository, and so no .gitignore that would say it."""


@dataclass(frozen=True, slots=True)
class _NotKept:
    """A file that is too large, closed to us, or being written."""

    size: int
    changed: int
    why: str


@dataclass(frozen=True, slots=True)
class _Tree:
    """The state of a mark."""

    id: str
    rights: dict[str, int] = field(default_factory=dict)
    """Of files that have others than 644 or 755."""
    large: dict[str, _NotKept] = field(default_factory=dict)
    """Files that are not kept."""
    touched: frozenset[str] = frozenset()
    """What was looked at for it."""
    repository: bool = False
    """The user has one there."""


class Shadow:
    """Of one folder; `root` is real, `top` is the top of the user's repository, if there is one."""

    def __init__(self, root: str, base: Path | None = None) -> None:
        """Raises NotCovered."""
        self.root = root
        if program() is None:
            raise NotCovered("there is no git here")
        self.top = top_of(root) or root
        self._below = os.path.relpath(root, self.top) if root != self.top else ""
        try:
            self._store = Store(root, base)
        except OSError as error:
            raise NotCovered(f"the state folder cannot be used: {error}") from None
        self._git_dir = self._store.folder / "git"
        self._index = self._store.folder / f"index.{os.getpid()}.{secrets.token_hex(4)}"
        self._git = Git(self._git_dir, self.top, self._index)
        self._lock = threading.Lock()
        self._ready = False
        self._rights: dict[str, int] = {}
        self._known = False
        self._outside = Outside(self.top, self._pathspec)

    # ---- marks --------------------------------------------------------------------------------

    def mark(self, *, first: bool = False) -> Mark:
        """The folder as it is now; raises NotCovered."""
        with self._lock:
            try:
                self._unlock()
                self._prepare()
                return self._mark(FIRST_S if first or not self._known else OURS_S)
            except (GitTrouble, OSError) as error:
                raise NotCovered(str(error)) from None

    def _unlock(self) -> None:
        """A git that took too long was killed, and could not do it; none runs now, and the index is ours."""
        self._lock_file.unlink(missing_ok=True)

    @property
    def _lock_file(self) -> Path:
        return self._index.with_name(self._index.name + ".lock")

    def _mark(self, limit: float) -> Mark:
        at = self._store.stamp()
        if not os.path.isdir(self.top):
            return self._mark_of_nothing(at, limit)
        changed, new, nested, empty, filled = self._scan(limit)
        touched, large = self._taken([*changed, *new], nested, limit)
        empty += self._emptied(changed)
        if filled:  # what is empty within them is told apart now that git knows the rest
            empty += self._folders(self._others(limit)[1])[1]
        tree = self._git.run("write-tree", limit=limit).decode().strip()
        self._remember(touched)
        self._known = True
        self._outside.nested = nested
        state = _Tree(tree, dict(self._rights), large, frozenset(touched), self._is_repository)
        return Mark(state, at, frozenset(os.path.join(self.top, it) for it in empty))

    def _mark_of_nothing(self, at: int, limit: float) -> Mark:
        """The folder itself is gone: git would not look at it, and what was in it is to be had again."""
        self._git.run("read-tree", "--empty", limit=limit)
        self._rights.clear()
        self._outside.nested = []
        return Mark(_Tree(self._git.run("write-tree", limit=limit).decode().strip()), at)

    def _others(self, limit: float) -> tuple[list[str], list[str]]:
        """Files, and folders as a whole, that git does not know yet."""
        words = ("ls-files", "-o", "--exclude-standard", "--directory", "-z", *self._pathspec)
        return _apart(names(self._git.run(*words, limit=limit)))

    def _scan(self, limit: float) -> tuple[list[str], list[str], list[str], list[str], bool]:
        """Paths that changed, those that are new, folders that are repositories, folders that are empty;
        and whether there are new folders with files in them."""
        with (
            self._git.start("diff-files", "-z", "--name-only", *self._pathspec) as one,
            self._git.start(
                "ls-files", "-o", "--exclude-standard", "--directory", "-z", *self._pathspec
            ) as two,
        ):
            changed, others = names(one.output(limit)), names(two.output(limit))
        new, folders = _apart(others)
        nested, empty, filled = self._folders(folders)
        # A folder where git knows a file is not told as a folder.
        filled = filled or any(_is_folder(os.path.join(self.top, it)) for it in changed)
        if filled:
            more = names(
                self._git.run("ls-files", "-o", "--exclude-standard", "-z", *self._pathspec, limit=limit)
            )
            nested += [it.rstrip("/") for it in more if it.endswith("/") and it.rstrip("/") not in nested]
            known = set(new)
            new += [it for it in more if not it.endswith("/") and it not in known]
        return changed, new, nested, empty, filled

    @property
    def _pathspec(self) -> tuple[str, ...]:
        return ("--", self._below) if self._below else ("--",)

    def _folders(self, folders: Iterable[str]) -> tuple[list[str], list[str], bool]:
        """Repositories of their own, empty folders, and whether others have something in them."""
        nested: list[str] = []
        empty: list[str] = []
        filled = False
        for folder in folders:
            path = os.path.join(self.top, folder)
            if os.path.lexists(os.path.join(path, ".git")):
                nested.append(folder)
            elif (hollow := _hollow(path, self.top)) is not None:
                empty += hollow
            else:
                filled = True
        return nested, empty, filled

    def _emptied(self, changed: Iterable[str]) -> list[str]:
        """Folders whose last file is gone: git does not tell them apart from one that it knows."""
        found: set[str] = set()
        gone = [it for it in changed if _is_folder(p := os.path.join(self.top, it)) or not os.path.lexists(p)]
        for folder in {it if _is_folder(os.path.join(self.top, it)) else os.path.dirname(it) for it in gone}:
            while folder and not _is_folder(os.path.join(self.top, folder)):
                folder = os.path.dirname(folder)
            if folder:
                found.update(_hollow(os.path.join(self.top, folder), self.top) or ())
        return sorted(found)

    def _taken(
        self, paths: list[str], nested: list[str], limit: float
    ) -> tuple[list[str], dict[str, _NotKept]]:
        """Have git take these; what somebody is writing just now is left out in the end."""
        touched, large = self._sorted(paths)
        for _ in range(ATTEMPTS):
            before = {it: _signature(os.path.join(self.top, it)) for it in touched}
            try:
                self._update(touched, large, nested, limit)
                return touched, large
            except GitTrouble:
                moving = {it for it, was in before.items() if _signature(os.path.join(self.top, it)) != was}
                if not moving:
                    raise
                large |= {it: _NotKept(*before[it][:2], UNSTEADY) for it in moving}
                touched = [it for it in touched if it not in moving]
        raise GitTrouble("files keep changing while they are looked at")

    def _sorted(self, paths: list[str]) -> tuple[list[str], dict[str, _NotKept]]:
        """What git is to look at; and files that are too large for us, or closed to us."""
        if len(paths) > MOST_FILES:
            raise NotCovered(f"there are more than {MOST_FILES:,} files")
        touched: list[str] = []
        large: dict[str, _NotKept] = {}
        total = 0
        for path in paths:
            whole = os.path.join(self.top, path)
            try:
                status = os.lstat(whole)
            except OSError:
                touched.append(path)  # it is gone
                continue
            too_large = status.st_size > MOST_FILE
            if stat.S_ISREG(status.st_mode) and (too_large or not os.access(whole, os.R_OK)):
                large[path] = _NotKept(status.st_size, status.st_ctime_ns, TOO_LARGE if too_large else CLOSED)
                continue
            total += status.st_size
            touched.append(path)
        if total > MOST_BYTES:
            raise NotCovered(f"there is more than {MOST_BYTES >> 30} GB in it")
        return touched, large

    def _update(self, touched: list[str], large: Iterable[str], nested: list[str], limit: float) -> None:
        gone = [*large, *(it for it in touched if _is_no_file(os.path.join(self.top, it)))]
        if gone:  # git stops at a pipe where it knows a file, and would read a large one
            self._git.run("update-index", "-z", "--force-remove", "--stdin", given=lines(gone), limit=limit)
        if len(touched) > ONE_BY_ONE:
            with self._left_out([*large, *(f"{it}/" for it in nested)]):
                self._git.run("add", "-A", *(self._pathspec if self._below else ("--", ".")), limit=limit)
        elif touched:
            here = sorted(
                set(touched) - set(gone), key=lambda it: os.path.lexists(os.path.join(self.top, it))
            )
            words = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
            self._git.run(*words, given=lines(here), limit=limit)

    def _remember(self, touched: Iterable[str]) -> None:
        """The rights of what changed, where git would forget them."""
        for path in touched:
            self._rights.pop(path, None)
            with contextlib.suppress(OSError):
                mode = os.lstat(os.path.join(self.top, path)).st_mode
                if stat.S_ISREG(mode) and stat.S_IMODE(mode) not in (0o644, 0o755):
                    self._rights[path] = stat.S_IMODE(mode)

    @property
    def notes(self) -> tuple[str, ...]:
        nested = [f"{it}/" for it in self._outside.nested]
        own = (f"repositories of their own are not covered: {listed(nested)}",) if nested else ()
        return (*self._outside.notes, *own)

    # ---- the repository -------------------------------------------------------------------------

    def _prepare(self) -> None:
        if self._ready:
            return
        if not (self._git_dir / "HEAD").exists():
            self._git.run("init", "--quiet", "--template=")
        info = self._git_dir / "info"
        info.mkdir(exist_ok=True)
        _put(info / "attributes", ATTRIBUTES)
        _put(info / "exclude", self._ignored())
        if (excludes := self._users_excludes()) is not None:
            self._git.option("core.excludesFile", excludes)
        self._take_over()
        self._add_tracked()
        self._ready = True

    @property
    def _is_repository(self) -> bool:
        return os.path.lexists(os.path.join(self.top, ".git"))

    def _ignored(self) -> str:
        own = self._git_dir.parent.parent.parent
        found = [*ALWAYS_IGNORED, "/.git"]
        with contextlib.suppress(ValueError):
            found.append(f"/{own.relative_to(os.path.realpath(self.top))}/")
        if not self._is_repository:
            found += NOT_A_REPOSITORY
        elif path := self._git.ask_users("rev-parse", "--git-path", "info/exclude"):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                found.append(Path(self.top, path.rstrip("\n")).read_text())
        return "\n".join(found) + "\n"

    def _users_excludes(self) -> str | None:
        if said := self._git.ask_users("config", "--get", "--type=path", "core.excludesFile"):
            return said.rstrip("\n")
        base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        path = os.path.join(base, "git", "ignore")
        return path if os.path.exists(path) else None

    def _add_tracked(self) -> None:
        """Files that the user's repository has, though its rules ignore them: `git add -f` did that."""
        if not self._is_repository:
            return
        words = ("ls-files", "-z", "-c", "-i", "--exclude-standard", "--full-name", *self._pathspec)
        tracked = [it for it in (self._git.ask_users(*words) or "").split("\0") if it]
        present = [it for it in tracked[:MOST_FILES] if _is_kept(os.path.join(self.top, it))]
        if present:
            self._git.run("update-index", "-z", "--add", "--stdin", given=lines(present), limit=FIRST_S)
            self._remember(present)

    # ---- the index, from one session to the next --------------------------------------------------

    def _take_over(self) -> None:
        """Begin with what the last session knew; its rights are of that very index, or nothing is taken."""
        last, rights = self._store.folder / "index", self._store.folder / "rights.json"
        with contextlib.suppress(OSError, ValueError):
            known = json.loads(rights.read_text())
            shutil.copy2(last, self._index)
            if known["index"] != _checksum(self._index):
                self._index.unlink()
                return
            self._rights = {str(path): int(mode) for path, mode in known["rights"].items()}
            self._known = True

    def hand_on(self) -> None:
        """For the next session."""
        with contextlib.suppress(OSError, ValueError):
            spare = self._index.with_suffix(".spare")
            shutil.copy2(self._index, spare)
            text = json.dumps({"index": _checksum(spare), "rights": self._rights})
            os.replace(spare, self._store.folder / "index")
            _put(self._store.folder / "rights.json", text)

    def kill(self) -> None:
        self._git.kill()

    def close(self) -> None:
        """Nothing of it is used any more. Blocks for a moment."""
        self._git.kill()
        with self._lock:
            if self._known:
                self.hand_on()
            for path in (self._index, self._lock_file):
                with contextlib.suppress(OSError):
                    path.unlink()
            self._store.close()

    @contextlib.contextmanager
    def _left_out(self, paths: Iterable[str]) -> Iterator[None]:
        """While git looks for itself, it must not find these."""
        file = self._git_dir / "info" / "exclude"
        before = file.read_text()
        _put(file, before + "".join(f"/{_pattern(path)}\n" for path in paths))
        try:
            yield
        finally:
            _put(file, before)

    # ---- comparing --------------------------------------------------------------------------------

    def compare(self, before: Mark, after: Mark) -> Iterator[Found]:
        """What differs; raises NotCovered."""
        with self._lock:
            try:
                yield from self._compare(before.state, after.state)
                yield from self._not_kept(before.state, after.state)
                if before.state.repository and not after.state.repository:
                    yield Found(os.path.join(self.top, ".git/"), why_not=REPOSITORY, action="deleted")
                if os.path.isdir(self.top):
                    yield from self._outside.changed(self._git, before.at)
            except (GitTrouble, OSError) as error:
                raise NotCovered(str(error)) from None

    def _compare(self, before: _Tree, after: _Tree) -> Iterator[Found]:
        entries = self._differing(before, after)
        unknown = {*before.large, *after.large}
        entries = [it for it in entries if it.path not in unknown]
        wanted = [oid for it in entries for oid in it.oids]
        blobs = self._blobs(wanted)
        for entry in entries:
            path = os.path.join(self.top, entry.path)
            if any(oid not in blobs for oid in entry.oids):
                yield Found(path, why_not=TOO_MUCH, action=entry.action)
                continue
            one, other = (
                _version(mode, blobs[oid], tree.rights.get(entry.path)) if mode else None
                for (mode, oid), tree in zip(entry.sides, (before, after), strict=True)
            )
            if one != other:
                yield Found(path, one, other)

    def _differing(self, before: _Tree, after: _Tree) -> list[_Entry]:
        found: list[_Entry] = []
        if before.id != after.id:
            words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before.id, after.id)
            fields = self._git.run(*words).split(b"\0")
            for head, path in zip(fields[::2], fields[1::2], strict=False):
                old, new, old_id, new_id, _ = head.decode().lstrip(":").split()
                sides = (_side(old, old_id), _side(new, new_id))
                found.append(_Entry(os.fsdecode(path), sides))
        return found + self._other_rights(before, after, {it.path for it in found})

    def _other_rights(self, before: _Tree, after: _Tree, known: set[str]) -> list[_Entry]:
        """Files of which only rights changed that git does not know."""
        paths = [
            it
            for it in after.touched
            if it not in known and before.rights.get(it) != after.rights.get(it) and it not in after.large
        ]
        if not paths:
            return []
        listed = self._git.run("ls-files", "-s", "-z", "--", *paths[:ONE_BY_ONE]).split(b"\0")
        entries: list[_Entry] = []
        for line in filter(None, listed):
            head, _, path = line.partition(b"\t")
            mode, oid, _ = head.decode().split()
            entries.append(_Entry(os.fsdecode(path), (_side(mode, oid), _side(mode, oid))))
        return entries

    def _blobs(self, wanted: list[str]) -> dict[str, bytes]:
        """What these objects hold, as far as it may be kept."""
        blobs: dict[str, bytes] = {}
        if not wanted:
            return blobs
        total = 0
        ids = [f"{oid}\n".encode() for oid in dict.fromkeys(wanted)]
        with self._git.start("cat-file", "--batch", "--buffer", given=ids) as reading:
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

    def _not_kept(self, before: _Tree, after: _Tree) -> Iterator[Found]:
        for path in sorted({*before.large, *after.large}):
            one, other = before.large.get(path), after.large.get(path)
            if one != other:
                action = "deleted" if not os.path.lexists(os.path.join(self.top, path)) else "modified"
                why = next(it.why for it in (other, one) if it is not None)
                yield Found(os.path.join(self.top, path), why_not=why, action=action)


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    sides: tuple[tuple[int, str], tuple[int, str]]
    """Mode and object, before and after; mode 0: there is nothing."""

    @property
    def oids(self) -> list[str]:
        return [oid for mode, oid in self.sides if mode]

    @property
    def action(self) -> str:
        (old, _), (new, _) = self.sides
        return "created" if not old else "deleted" if not new else "modified"


def _side(mode: str, oid: str) -> tuple[int, str]:
    number = int(mode, 8)
    return (0 if number == _NESTED else number, oid)


def _version(mode: int, data: bytes, rights: int | None) -> Version:
    if mode == _LINK:
        return Version(data, 0o777, link=True)
    return Version(data, rights if rights is not None else mode & 0o777)


def top_of(folder: str) -> str | None:
    """The top of the user's repository that the folder is in."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _apart(paths: list[str]) -> tuple[list[str], list[str]]:
    return [it for it in paths if not it.endswith("/")], [it.rstrip("/") for it in paths if it.endswith("/")]


def _signature(path: str) -> tuple[int, int, int]:
    """What changes whenever a file is written: its size, its time of change, and which file it is."""
    try:
        status = os.lstat(path)
    except OSError:
        return (0, 0, 0)
    return (status.st_size, status.st_ctime_ns, status.st_ino)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _is_no_file(path: str) -> bool:
    """A folder, a pipe, a socket, a device."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISLNK(mode)


def _hollow(path: str, top: str) -> list[str] | None:
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


def _is_kept(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_size <= MOST_FILE)


def _pattern(path: str) -> str:
    """The path as a rule of .gitignore that means it alone."""
    escaped = "".join(
        f"\\{char}" if char in "\\*?[]!# " else "?" if char in "\r\n" else char for char in path
    )
    return escaped.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\ufffd", "?")


def _put(file: Path, text: str) -> None:
    spare = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    spare.write_text(text, encoding="utf-8", errors="surrogateescape")
    os.replace(spare, file)


def _checksum(index: Path) -> str:
    """git ends an index with one."""
    with open(index, "rb") as file:
        file.seek(-20, os.SEEK_END)
        return file.read().hex()
