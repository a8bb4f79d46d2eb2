"""Writes the changes of a run as a commit on a new branch of the user's repository.

The commit's parent is HEAD, and it has nothing but these changes, merged with what HEAD has: what the user
has not committed stays out of it. HEAD, the index and the working tree are not touched. Blocks.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...core.changes import Version
from ...core.fan_out.task import ChangedFile
from ...errors import Conflict, Error, UsageError
from ..undo.applied import why_not
from ..undo.git import Git, GitTrouble, program
from ..undo.git_backend import top_of
from ..undo.operations import merged_step

LINK, PROGRAM, FILE = "120000", "100755", "100644"


def commit_on_branch(top: str, files: Sequence[ChangedFile], branch: str, message: str) -> str:
    """Create the branch with one commit, and return its id. Raises UsageError, Conflict and Error."""
    if program() is None or top_of(top) != top:
        raise UsageError(f"{top} is not in a git repository: there can be no branch")
    with tempfile.TemporaryDirectory(prefix="acp-notebook-") as folder:
        git = Git(Path(folder), top, Path(folder) / "index")
        try:
            head = _checked(git, branch)
            found, conflicts = _merged(git, head, files)
            if conflicts:
                raise Conflict(
                    "the run's changes do not fit what is committed, and no branch was made:\n"
                    + "\n".join(conflicts)
                    + "\nCommit your own changes of these files first, or apply the run without branch="
                )
            return _commit(git, head, found, branch, message)
        except GitTrouble as error:
            raise Error(f"no branch was made: {error}") from None
        finally:
            git.kill()


def _checked(git: Git, branch: str) -> str:
    """The commit that HEAD is. Raises UsageError."""
    ref = f"refs/heads/{branch}"
    fits = branch != "HEAD" and not branch.startswith("-")
    if not fits or git.query_users("check-ref-format", ref) is None:
        raise UsageError(f"{branch!r} is not a name for a branch")
    if git.query_users("show-ref", "--verify", "--quiet", ref) is not None:
        raise UsageError(f"there is a branch {branch!r} already: choose another name, or delete it first")
    head = git.query_users("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head is None:
        raise UsageError("the repository has no commit yet: there is nothing to branch from")
    return head.strip()


def _merged(git: Git, head: str, files: Sequence[ChangedFile]) -> tuple[dict[str, Version | None], list[str]]:
    """What the commit changes, by path, and what does not fit."""
    found: dict[str, Version | None] = {}
    conflicts: list[str] = []
    for it in files:
        why = why_not(it)
        if why is None:
            before, after, now = (
                _plain(version) for version in (it.before, it.after, _in_head(git, head, it))
            )
            step = merged_step(it.path, before, after, now)
            why = None if step.conflict is None else "HEAD has another version of what the run changed"
            if step.needed:
                found[it.path] = step.write
        if why is not None:
            conflicts.append(f"  {it.path}: {why}")
    return found, conflicts


def _plain(version: Version | None) -> Version | None:
    """With the one permission that git keeps."""
    if version is None or version.link:
        return None if version is None else Version(version.data, 0o777, link=True)
    return Version(version.data, 0o755 if version.mode & 0o100 else 0o644)


def _in_head(git: Git, head: str, file: ChangedFile) -> Version | None:
    """The file as a checkout of HEAD would have it. Raises GitTrouble."""
    listed = git.run_users("--literal-pathspecs", "ls-tree", "-z", head, "--", file.path)
    mode, _, rest = listed.partition(b" ")
    if not rest or mode not in (LINK.encode(), PROGRAM.encode(), FILE.encode()):
        return None
    as_blob = ("blob",) if mode == LINK.encode() else ("--filters",)
    data = git.run_users("cat-file", *as_blob, f"{head}:{file.path}")
    return Version(data, 0o755 if mode == PROGRAM.encode() else 0o644, link=mode == LINK.encode())


def _commit(git: Git, head: str, found: dict[str, Version | None], branch: str, message: str) -> str:
    git.run_users("read-tree", head, own_index=True)
    gone = [path for path, it in found.items() if it is None]
    lines = [b"0 %s\t%s\0" % (b"0" * len(head), os.fsencode(path)) for path in gone]
    for path, version in found.items():
        if version is not None:
            lines.append(_entry(git, path, version))
    if lines:
        git.run_users("update-index", "--add", "-z", "--index-info", given=lines, own_index=True)
    tree = git.run_users("write-tree", own_index=True).decode().strip()
    commit = git.run_users("commit-tree", tree, "-p", head, given=[message.encode()]).decode().strip()
    # An empty old value: only if no such branch was made in the meantime.
    git.run_users("update-ref", f"refs/heads/{branch}", commit, "")
    return commit


def _entry(git: Git, path: str, version: Version) -> bytes:
    how = ("--no-filters",) if version.link else ("--path", path)
    blob = git.run_users("hash-object", "-w", "--stdin", *how, given=[version.data])
    mode = LINK if version.link else PROGRAM if version.mode & 0o100 else FILE
    return b"%s %s\t%s\0" % (mode.encode(), blob.strip(), os.fsencode(path))
