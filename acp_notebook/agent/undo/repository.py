"""The private repository of one folder: made, told what to ignore, its index handed on between sessions.

Knows where things are and what the user's own git ignores; nothing of looks and trees. Blocks.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from .git import ATTRIBUTES, FIRST_S, Git, lines
from .store import Store
from .trees import is_kept

ALWAYS_IGNORED = ("__pycache__/", ".ipynb_checkpoints/", ".acp-notebook-*.tmp")
NOT_A_REPOSITORY = ("node_modules/", ".venv/", "venv/", ".tox/", ".cache/", ".mypy_cache/", ".ruff_cache/")
"""Ignored where the user has no repository, and so no .gitignore that would say it."""

MOST_TRACKED = 200_000
"""Files that are ignored and tracked all the same: more are not looked for."""


class Repository:
    """For the folder `root` in the work tree `top`; raises OSError where nothing can be kept."""

    def __init__(self, root: str, top: str, base: Path | None = None) -> None:
        self.store = Store(root, base)
        self._top = top
        self._git_dir = self.store.folder / "git"
        self._index = self.store.folder / f"index.{os.getpid()}.{secrets.token_hex(4)}"
        self.git = Git(self._git_dir, top, self._index)
        self.ref = f"refs/acp/{self._index.suffix[1:]}"
        """For what git must call by a name, for a moment."""
        self.excludes: str | None = None
        """The user's own file of what to ignore everywhere."""

    @property
    def exclude(self) -> Path:
        return self._git_dir / "info" / "exclude"

    @property
    def is_users(self) -> bool:
        """The user has one of their own there."""
        return os.path.lexists(os.path.join(self._top, ".git"))

    @property
    def lock_file(self) -> Path:
        return _lock_of(self._index)

    def unlock(self) -> None:
        """A git that took too long was killed, and could not do it; none runs now, and the index is ours."""
        self.lock_file.unlink(missing_ok=True)

    @contextlib.contextmanager
    def aside(self) -> Iterator[Git]:
        """A git with a copy of the index: ended in the middle, it leaves no trace."""
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(self._index, self._aside)
        git = self.git.another(self._aside)
        try:
            yield git
        finally:
            git.kill()
            for path in (self._aside, _lock_of(self._aside)):
                path.unlink(missing_ok=True)

    def take_aside(self) -> None:
        """That copy is the index from here on."""
        shutil.copy2(self._aside, self._spare)
        os.replace(self._spare, self._index)

    @property
    def _aside(self) -> Path:
        return self._index.with_name(f"{self._index.name}.aside")

    @property
    def _spare(self) -> Path:
        return self._index.with_name(f"{self._index.name}.spare")

    def make(self) -> None:
        """Raises GitTrouble, OSError."""
        if not self._is_made:
            self._init()
        self.exclude.parent.mkdir(exist_ok=True)
        put_text(self.exclude.with_name("attributes"), ATTRIBUTES)
        put_text(self.exclude, self._ignored())
        self.excludes = self._users_excludes()
        if self.excludes is not None:
            self.git.option("core.excludesFile", self.excludes)

    @property
    def _is_made(self) -> bool:
        return (self._git_dir / "HEAD").exists()

    def _init(self) -> None:
        """Elsewhere, and whole into its place: another session may be making it, too, or begin to use it."""
        draft = self._git_dir.with_name(f"git.{secrets.token_hex(4)}")
        try:
            self.git.run(f"--git-dir={draft}", "init", "--quiet", "--template=")
            with contextlib.suppress(OSError):  # there is one by now, …
                os.rename(draft, self._git_dir)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        if not self._is_made:  # … or what is left of one
            self.git.run("init", "--quiet", "--template=")

    def _ignored(self) -> str:
        own = self._git_dir.parent.parent.parent
        found = [*ALWAYS_IGNORED, "/.git"]
        with contextlib.suppress(ValueError):
            found.append(f"/{own.relative_to(os.path.realpath(self._top))}/")
        if not self.is_users:
            found += NOT_A_REPOSITORY
        elif path := self.git.ask_users("rev-parse", "--git-path", "info/exclude"):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                found.append(Path(self._top, path.rstrip("\n")).read_text())
        return "\n".join(found) + "\n"

    def _users_excludes(self) -> str | None:
        if said := self.git.ask_users("config", "--get", "--type=path", "core.excludesFile"):
            return said.rstrip("\n")
        base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        path = os.path.join(base, "git", "ignore")
        return path if os.path.exists(path) else None

    def add_tracked(self, pathspec: tuple[str, ...]) -> list[str]:
        """Files that the user's repository has, though its rules ignore them: `git add -f` did that."""
        if not self.is_users:
            return []
        words = ("ls-files", "-z", "-c", "-i", "--exclude-standard", "--full-name", *pathspec)
        tracked = [it for it in (self.git.ask_users(*words) or "").split("\0") if it]
        present = [it for it in tracked[:MOST_TRACKED] if is_kept(os.path.join(self._top, it))]
        if present:
            self.git.run("update-index", "-z", "--add", "--stdin", given=lines(present), limit=FIRST_S)
        return present

    # ---- the index, from one session to the next --------------------------------------------------

    def take_over(self) -> dict[str, int] | None:
        """Begin with what the last session knew: rights that are of that very index, or nothing is taken."""
        last, rights = self.store.folder / "index", self.store.folder / "rights.json"
        try:
            known = json.loads(rights.read_text())
            shutil.copy2(last, self._index)
            if known["index"] != _checksum(self._index):
                self._index.unlink()
                return None
            return {str(path): int(mode) for path, mode in known["rights"].items()}
        except (OSError, ValueError):
            return None

    def hand_on(self, rights: dict[str, int]) -> None:
        """For the next session. Of what changed since the index was written, it looks at the rights again."""
        with contextlib.suppress(OSError, ValueError):
            shutil.copy2(self._index, self._spare)
            text = json.dumps({"index": _checksum(self._spare), "rights": rights})
            os.replace(self._spare, self.store.folder / "index")
            put_text(self.store.folder / "rights.json", text)

    def close(self) -> None:
        for path in (self._index, self.lock_file, self._spare, self._git_dir / self.ref):
            with contextlib.suppress(OSError):
                path.unlink()
        self.store.close()


def _lock_of(index: Path) -> Path:
    return index.with_name(f"{index.name}.lock")


def put_text(file: Path, text: str) -> None:
    spare = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    spare.write_text(text, encoding="utf-8", errors="surrogateescape")
    os.replace(spare, file)


def _checksum(index: Path) -> str:
    """git ends an index with one."""
    with open(index, "rb") as file:
        file.seek(-20, os.SEEK_END)
        return file.read().hex()
