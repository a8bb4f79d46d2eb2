"""Makes the snapshot and the copies of a folder in the way that fits it: by git, or plainly."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

from ...core.fan_out.task import FolderSpec
from .. import temporary_folders
from ..undo.git_backend import top_of
from . import git_copies, plain_copies
from .copy import Copy, CopyFailed, Snapshot
from .shared import shared_paths


class FolderMissing(CopyFailed):
    """This machine does not have the snapshot: it must be sent along."""


def snapshot(
    folder: str, share: Iterable[str | os.PathLike[str]] = (), left_out: Iterable[str] = ()
) -> Snapshot:
    """Take a snapshot of the folder. Raises CopyFailed and UsageError.

    `left_out`: folders of ours below it, which git ignores and a plain copy must leave out.
    """
    temporary_folders.sweep()
    real = os.path.realpath(folder)
    if git_copies.in_repository(real):
        return git_copies.GitSnapshot(real, shared_paths(share, folder, top_of(real) or real))
    ours = [os.path.relpath(os.path.realpath(it), real) for it in left_out]
    return plain_copies.PlainSnapshot(real, shared_paths(share, folder, real), ours)


def copy(spec: FolderSpec) -> Copy:
    """Make a copy of the snapshot, which must be on this machine. Raises CopyFailed."""
    return git_copies.GitCopy(spec) if spec.kind == "git" else plain_copies.PlainCopy(spec)


def is_here(spec: FolderSpec) -> bool:
    """Whether this machine has the snapshot: the path alone proves nothing."""
    try:
        return Path(spec.source, git_copies.NONCE).read_text() == spec.nonce
    except OSError:
        return False


_unpacked: dict[str, FolderSpec] = {}
_unpacking = threading.Lock()


def available(spec: FolderSpec, packed: bytes | None) -> FolderSpec:
    """The snapshot on this machine, unpacked once in each process. Raises FolderMissing and CopyFailed."""
    if is_here(spec):
        return spec
    with _unpacking:
        if spec.nonce in _unpacked and is_here(_unpacked[spec.nonce]):
            return _unpacked[spec.nonce]
        if packed is None:
            raise FolderMissing("this worker does not share the disk, and was not sent the folder")
        temporary_folders.sweep()
        folder = temporary_folders.make("acp-runs-")
        try:
            unpack = git_copies.unpack if spec.kind == "git" else plain_copies.unpack
            found = _unpacked[spec.nonce] = unpack(spec, packed, folder)
        except BaseException:
            temporary_folders.remove(folder)
            raise
        return found
