"""The private repository of one folder, in the user's state folder. Creates, configures and prunes it.

Knows the layout of the store and what the user's own git ignores; knows nothing about scans and trees.
Blocks, so call it on a work thread.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
import time
from functools import cached_property
from pathlib import Path

from ... import timeouts
from ...log import logger, suppressed
from ..locked_file import lock
from ..user_dirs import state_folder
from .backend import SAVING
from .git import ATTRIBUTES, Git, lines
from .scan import is_kept

_log = logger(__name__)

KEPT_DAYS = 14
"""A repository unused for this long is deleted. It only saves the time of a first scan."""

MOST_BYTES = 4 * 2**30
"""A larger repository is deleted and created again, unless another session uses it."""

ALWAYS_IGNORED = ("__pycache__/", ".ipynb_checkpoints/", f"{SAVING}*", ".acp-notebook-*.tmp")
NOT_A_REPOSITORY = ("node_modules/", ".venv/", "venv/", ".tox/", ".cache/", ".mypy_cache/", ".ruff_cache/")
"""Ignored if the user has no repository and therefore no .gitignore."""

MOST_TRACKED = 200_000
"""At most this many files that are tracked although the rules ignore them."""

MOST_RULES = 2**20
"""Size limit of an ignore file in bytes. Nobody writes a larger one by hand, and git loads all of it."""

LEFTOVERS = (
    *("index.*", "git.*", "rights.json.*", "git/*.lock", "git/info/exclude.*", "git/info/attributes.*"),
    *("git/objects/??/tmp_obj_*", "git/objects/pack/tmp_*"),
)
"""Temporary files of a session or its git; a killed session leaves them behind."""


class Store:
    """Holds and locks the private folder of one work tree. Raises OSError if that is impossible."""

    def __init__(self, work_tree: str, base: Path | None = None) -> None:
        self.base = (base or state_folder()) / "checkpoints"
        self.base.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = hashlib.sha256(os.fsencode(work_tree)).hexdigest()[:24]
        self.folder = self.base / name
        self._prune(name)
        self._fd = self._open_locked()

    def _open_locked(self) -> int:
        """Create the folder and take its shared lock, which keeps other sessions from pruning it."""
        if _size(self.folder) > MOST_BYTES:
            _remove(self.folder)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        fd = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._sweep(fd)
            lock(fd, exclusive=False)
            os.utime(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _sweep(self, fd: int) -> None:
        """Remove what killed sessions left behind, unless a session uses the folder now."""
        with suppressed(_log, OSError):
            lock(fd, exclusive=True)
            for path in (it for pattern in LEFTOVERS for it in self.folder.glob(pattern)):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _prune(self, but: str) -> None:
        oldest = time.time() - KEPT_DAYS * 86_400
        with suppressed(_log, OSError):
            for folder in self.base.iterdir():
                if folder.name != but and _last_used(folder) < oldest:
                    _remove(folder)


def _last_used(folder: Path) -> float:
    try:
        return (folder / "lock").stat().st_mtime
    except OSError:
        return folder.stat().st_mtime


def _remove(folder: Path) -> None:
    """Delete the folder, unless a session uses it."""
    with suppressed(_log, OSError):
        fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            lock(fd, exclusive=True)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(fd)


def _size(folder: Path) -> int:
    """The approximate size: packs and objects, without directory entries."""
    total = 0
    for place, _, files in os.walk(folder / "git" / "objects"):
        for name in files:
            with suppressed(_log, OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total


class Repository:
    """The private repository for the folder `root` in the work tree `top`.

    Raises OSError if the state folder cannot be used.
    """

    def __init__(self, root: str, top: str, base: Path | None = None) -> None:
        self.store = Store(root, base)
        self._top = top
        self.git_dir = self.store.folder / "git"
        self._index = self.store.folder / f"index.{os.getpid()}.{secrets.token_hex(4)}"
        self.git = Git(self.git_dir, top, self._index)

    @property
    def exclude(self) -> Path:
        return self.git_dir / "info" / "exclude"

    @property
    def is_users(self) -> bool:
        """Whether the user has a repository of their own in the folder."""
        return os.path.lexists(os.path.join(self._top, ".git"))

    @property
    def lock_file(self) -> Path:
        return self._index.with_name(f"{self._index.name}.lock")

    def unlock(self) -> None:
        """Remove the lock of a killed git. No git is running, and only this session uses the index."""
        self.lock_file.unlink(missing_ok=True)

    @property
    def _spare(self) -> Path:
        return self._index.with_name(f"{self._index.name}.spare")

    def make(self) -> None:
        """Create and configure the repository. Raises GitTrouble or OSError."""
        if not self._is_made:
            self._init()
        self.exclude.parent.mkdir(exist_ok=True)
        put_text(self.exclude.with_name("attributes"), ATTRIBUTES)
        put_text(self.exclude, self._ignored())
        if (excludes := self._users_excludes()) is not None:
            self.git.option("core.excludesFile", excludes)

    @property
    def _is_made(self) -> bool:
        return (self.git_dir / "HEAD").exists()

    def _init(self) -> None:
        """Create it under another name, then rename: another session may create it at the same time."""
        draft = self.git_dir.with_name(f"git.{secrets.token_hex(4)}")
        try:
            self.git.run(f"--git-dir={draft}", "init", "--quiet", "--template=")
            with suppressed(_log, OSError):  # another session was faster …
                os.rename(draft, self.git_dir)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        if not self._is_made:  # … or left an incomplete one
            self.git.run("init", "--quiet", "--template=")

    def _ignored(self) -> str:
        own = self.git_dir.parent.parent.parent
        found = [*ALWAYS_IGNORED, "/.git"]
        with contextlib.suppress(ValueError):
            found.append(f"/{own.relative_to(os.path.realpath(self._top))}/")
        if not self.is_users:
            found += NOT_A_REPOSITORY
        elif (rules := rules_in(self._users_exclude)) is not None:
            found.append(rules)
        return "\n".join(found) + "\n"

    @cached_property
    def _users_exclude(self) -> str:
        """The path of the info/exclude file of the user's repository."""
        answer = self.git.query_users("rev-parse", "--git-path", "info/exclude") or ".git/info/exclude"
        return os.path.join(self._top, answer.rstrip("\n"))

    def _users_excludes(self) -> str | None:
        """The user's global ignore file, if git can read it safely."""
        base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        answer = self.git.query_users("config", "--get", "--type=path", "core.excludesFile")
        path = answer.rstrip("\n") if answer else os.path.join(base, "git", "ignore")
        return path if rules_in(path) is not None else None

    def add_tracked(self, pathspec: tuple[str, ...]) -> list[str]:
        """Add and return the files that the user's repository tracks although its rules ignore them.

        The user added them with `git add -f`.
        """
        if not self.is_users or _is_harmful(self._users_exclude):
            return []
        words = ("ls-files", "-z", "-c", "-i", "--exclude-standard", "--full-name", *pathspec)
        tracked = [it for it in (self.git.query_users(*words) or "").split("\0") if it]
        present = [it for it in tracked[:MOST_TRACKED] if is_kept(os.path.join(self._top, it))]
        if present:
            limit = timeouts.get().git_first_scan
            self.git.run("update-index", "-z", "--add", "--stdin", given=lines(present), limit=limit)
        return present

    # ---- the index, from one session to the next --------------------------------------------------

    def take_over(self) -> dict[str, int] | None:
        """Start with the index of the last session; return its file modes, or None if there is no index."""
        last, modes = self.store.folder / "index", self.store.folder / "rights.json"
        try:
            known = json.loads(modes.read_text())
            shutil.copy2(last, self._index)
            if known["index"] != _checksum(self._index):
                self._index.unlink()
                return None
            return {str(path): int(mode) for path, mode in known["rights"].items()}
        except (OSError, ValueError):
            return None

    def hand_on(self, modes: dict[str, int]) -> None:
        """Keep the index for the next session."""
        with suppressed(_log, OSError, ValueError):
            shutil.copy2(self._index, self._spare)
            text = json.dumps({"index": _checksum(self._spare), "rights": modes})
            os.replace(self._spare, self.store.folder / "index")
            put_text(self.store.folder / "rights.json", text)

    def close(self) -> None:
        for path in (self._index, self.lock_file, self._spare):
            with suppressed(_log, OSError):
                path.unlink()
        self.store.close()


def rules_in(path: str) -> str | None:
    """The text of an ignore file; None if it is not a regular file, is too large, or cannot be read.

    The folder may be hostile: opening a pipe would block, and a device never ends.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_RULES:
            return None
        return os.read(fd, MOST_RULES).decode(errors="surrogateescape")
    except OSError:
        return None
    finally:
        os.close(fd)


def _is_harmful(path: str) -> bool:
    """Whether the file exists and git must not read it."""
    return os.path.exists(path) and rules_in(path) is None


def put_text(file: Path, text: str) -> None:
    spare = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    spare.write_text(text, encoding="utf-8", errors="surrogateescape")
    os.replace(spare, file)


def _checksum(index: Path) -> str:
    """The checksum at the end of a git index."""
    with open(index, "rb") as file:
        file.seek(-20, os.SEEK_END)
        return file.read().hex()
