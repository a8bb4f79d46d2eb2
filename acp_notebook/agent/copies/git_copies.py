"""Snapshots and copies of a folder in a git repository: a private repository, and a worktree for each run.

The snapshot is the folder as it is, uncommitted and new files included, as the checkpoints of `agent.undo`
see it: bytes are stored unchanged, and no filter or hook of the user runs.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from functools import cached_property
from pathlib import Path

import msgspec

from ... import timeouts
from ...core.changes import PathChange
from ...core.fan_out.task import MOST_RESULT_BYTES, ChangedFile, FolderSpec
from .. import temporary_folders
from ..undo.backend import CheckpointUnavailable
from ..undo.git import ATTRIBUTES, Git, GitTrouble, program
from ..undo.git_backend import GitBackend, compare, listed, top_of
from ..undo.scan import FullScan, Tree
from .copy import CopyFailed, Shared
from .shared import link

REPOSITORY = "repository"
NONCE = "nonce"
REF = "refs/runs/base"

TOO_MUCH = f"the run changed too much to send it back (more than {MOST_RESULT_BYTES >> 20} MB)"

CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[gc]\n\tauto = 0\n"
"""No automatic gc: it would remove what only a run refers to."""


def _escaped(place: str) -> str:
    """The path as a rule for git that means just this path."""
    text = re.sub(r"[\\*?\[]", r"\\\g<0>", place)
    bare = text.rstrip(" ")
    return bare + "\\ " * (len(text) - len(bare))


def in_repository(folder: str) -> bool:
    return program() is not None and top_of(os.path.realpath(folder)) is not None


class GitSnapshot:
    """A private repository with one commit: the folder as it is now."""

    def __init__(self, folder: str, shared: Shared = ()) -> None:
        """Raises CopyFailed."""
        cwd = os.path.realpath(folder)
        self.top = top_of(cwd) or cwd
        self._folder = temporary_folders.make("acp-runs-")
        self._backend: GitBackend | None = None
        try:
            self._backend = GitBackend(self.top)
            tree: Tree = self._backend.mark().state
            self._large = tuple(tree.large)
            git_dir = self._folder / REPOSITORY
            own = self._backend.git_dir
            exclude = (own / "info" / "exclude").read_text(errors="surrogateescape")
            exclude += "".join(f"/{_escaped(place)}\n" for _, place in shared)
            self._git = Git(git_dir, self.top, self._folder / "no-index")
            head, objects = self._users_history()
            make_repository(git_dir, exclude, [str(own / "objects"), *objects])
            commit = self._commit(tree.id, head)
            bundled = commit if head is None else self._commit(tree.id, None)
            self._git.run("update-ref", REF, bundled)
            nonce = secrets.token_hex(16)
            (git_dir / NONCE).write_text(nonce)
        except (CheckpointUnavailable, GitTrouble, OSError) as error:
            self.close()
            raise CopyFailed(f"the folder cannot be copied: {error}") from None
        self.spec = FolderSpec(
            "git",
            str(git_dir),
            os.path.basename(self.top) or "folder",
            commit,
            tree.id,
            bundled,
            exclude,
            os.path.relpath(cwd, self.top) if cwd != self.top else "",
            nonce,
            tuple(shared),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        large = f"not in the copies, because they are too large: {listed([*self._large])}"
        nested = self._backend.notes if self._backend is not None else ()
        return (*((large,) if self._large else ()), *(f"not in the copies: {it}" for it in nested))

    def _users_history(self) -> tuple[str | None, list[str]]:
        """The user's last commit, so that agents see the history; and where its objects are."""
        said = self._git.query_users(
            "rev-parse", "--show-object-format", "--git-path", "objects", "--git-path", "shallow"
        )
        match (said or "").splitlines():
            case ["sha1", objects, shallow] if not os.path.exists(os.path.join(self.top, shallow)):
                head = self._git.query_users("rev-parse", "--verify", "--quiet", "HEAD")
                return (head.strip(), [os.path.join(self.top, objects)]) if head else (None, [])
        return None, []

    def _commit(self, tree: str, parent: str | None) -> str:
        who = ("-c", "user.name=acp_notebook", "-c", "user.email=acp_notebook")
        parents = () if parent is None else ("-p", parent)
        made = self._git.run(*who, "commit-tree", tree, *parents, "-m", "The folder as it is now")
        return made.decode().strip()

    def pack(self) -> bytes:
        path = self._folder / f"bundle.{secrets.token_hex(4)}"
        try:
            limit = timeouts.get().git_first_scan
            self._git.run("bundle", "create", "--quiet", str(path), REF, limit=limit)
            return path.read_bytes()
        except (GitTrouble, OSError) as error:
            raise CopyFailed(f"the folder cannot be packed: {error}") from None
        finally:
            path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._backend is not None:
            self._backend.close()
        temporary_folders.remove(self._folder)


def make_repository(git_dir: Path, exclude: str, objects: list[str]) -> None:
    """Create a repository that borrows objects from others."""
    for part in ("info", "objects/info", "refs", "worktrees"):
        (git_dir / part).mkdir(parents=True, exist_ok=True)
    (git_dir / "config").write_text(CONFIG)
    (git_dir / "info" / "exclude").write_text(exclude, errors="surrogateescape")
    (git_dir / "info" / "attributes").write_text(ATTRIBUTES)
    borrowed = b"".join(os.fsencode(it) + b"\n" for it in objects)
    (git_dir / "objects" / "info" / "alternates").write_bytes(borrowed)
    (git_dir / "HEAD").write_text(f"ref: {REF}\n")


def unpack(spec: FolderSpec, data: bytes, folder: Path) -> FolderSpec:
    """Make the repository of a packed snapshot in this folder. Raises CopyFailed."""
    git_dir, bundle = folder / REPOSITORY, folder / "bundle"
    try:
        make_repository(git_dir, spec.exclude, [])
        bundle.write_bytes(data)
        git = Git(git_dir, str(folder), folder / "no-index")
        git.run("bundle", "unbundle", str(bundle), limit=timeouts.get().git_first_scan)
        bundle.unlink()
        (git_dir / NONCE).write_text(spec.nonce)
    except (GitTrouble, OSError) as error:
        raise CopyFailed(f"the folder cannot be unpacked: {error}") from None
    return msgspec.structs.replace(spec, source=str(git_dir), commit=spec.bundled)


class GitCopy:
    """A worktree of the private repository, with an index of our own to find what changed."""

    def __init__(self, spec: FolderSpec) -> None:
        """Raises CopyFailed."""
        self._spec = spec
        self._repository = Path(spec.source)
        self._folder = temporary_folders.make("acp-run-")
        self._admin = self._repository / "worktrees" / self._folder.name
        self.top = str(self._folder / spec.name)
        self.cwd = os.path.join(self.top, spec.below) if spec.below else self.top
        self._index = self._folder / "index"
        self._indexed: str | None = spec.tree
        """The tree that the index has; None if that is not known."""
        self._base = Tree(spec.tree)
        try:
            self._check_out()
            link(spec.share, self.top)
            os.makedirs(self.cwd, exist_ok=True)
        except (GitTrouble, OSError) as error:
            self.remove()
            raise CopyFailed(f"the folder cannot be copied: {error}") from None
        except CopyFailed:
            self.remove()
            raise

    def _check_out(self) -> None:
        os.mkdir(self.top)
        self._admin.mkdir(mode=0o700)
        (self._admin / "commondir").write_text("../..\n")
        (self._admin / "gitdir").write_bytes(os.fsencode(f"{self.top}/.git\n"))
        (self._admin / "HEAD").write_text(f"{self._spec.commit}\n")
        Path(self.top, ".git").write_bytes(os.fsencode(f"gitdir: {self._admin}\n"))
        git = Git(self._admin, self.top, self._index)
        git.option("checkout.workers", "0")
        try:
            git.run("read-tree", "--reset", "-u", self._spec.commit, limit=timeouts.get().git_first_scan)
        finally:
            git.kill()
        shutil.copyfile(self._index, self._admin / "index")

    @cached_property
    def _git(self) -> Git:
        return Git(self._repository, self.top, self._index)

    def mark(self) -> None:
        try:
            self._base = self._scanned()
        except (CheckpointUnavailable, GitTrouble, OSError) as error:
            raise CopyFailed(f"what setup changed cannot be determined: {error}") from None

    def _scanned(self) -> Tree:
        indexed, self._indexed = self._indexed, None
        limit = timeouts.get().git_first_scan
        seen = FullScan(self._git, self.top, ("--",), limit, base=indexed).all()
        self._indexed = seen.tree
        return Tree(seen.tree, large=seen.large)

    def changes(self) -> tuple[tuple[ChangedFile, ...], bytes]:
        git, base = self._git, self._base
        try:
            after = self._scanned()
            files = [self._changed(it) for it in compare(git, git, self.top, base, after)]
            words = ("diff-tree", "-p", "--binary", "--full-index", "--no-renames", base.id, after.id)
            patch = git.run(*words) if files else b""
        except (CheckpointUnavailable, GitTrouble, OSError) as error:
            raise CopyFailed(f"what the run changed cannot be determined: {error}") from None
        return bounded(files, patch)

    def _changed(self, it: PathChange) -> ChangedFile:
        return ChangedFile(os.path.relpath(it.path, self.top), it.before, it.after, it.why_not)

    def remove(self) -> None:
        if "_git" in self.__dict__:
            self._git.kill()
        with contextlib.suppress(OSError):
            shutil.rmtree(self._admin)
        temporary_folders.remove(self._folder)


def bounded(files: list[ChangedFile], patch: bytes) -> tuple[tuple[ChangedFile, ...], bytes]:
    """The changes, without their content if that is too much to send."""
    sides = (side for it in files for side in (it.before, it.after) if side is not None)
    if sum(len(it.data) for it in sides) + len(patch) <= MOST_RESULT_BYTES:
        return tuple(files), patch
    return tuple(ChangedFile(it.path, why_not=it.why_not or TOO_MUCH) for it in files), b""
