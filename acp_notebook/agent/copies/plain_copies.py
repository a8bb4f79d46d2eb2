"""Snapshots and copies of a folder without git: plain copies of its files.

The first copy is the snapshot, so that every run starts from the same state, whatever the user does since.
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
import stat
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ...core.changes import Version
from ...core.fan_out.changed import diff, shown
from ...core.fan_out.task import ChangedFile, FolderSpec
from ...errors import UsageError
from .. import temporary_folders
from ..undo.scan import Signature, signature
from .copy import CopyFailed, Shared
from .git_copies import NONCE, bounded
from .shared import link

MOST_BYTES = 200 * 2**20
"""The largest folder that is copied for each run: more takes seconds and fills the disk."""

MOST_FILES = 50_000

IGNORED = frozenset(
    {"__pycache__", ".ipynb_checkpoints", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".git"}
)
"""Neither copied nor compared: programs write them, and no run needs them."""

BASE = "base"

MARKED_BYTES = 2**18
"""A file that `setup` changed is kept up to this size, to be compared later: there may be thousands."""


class PlainSnapshot:
    """A private copy of the folder."""

    def __init__(self, folder: str, shared: Shared = (), left_out: Iterable[str] = ()) -> None:
        """Raises CopyFailed, and UsageError if the folder is too large."""
        self.top = os.path.realpath(folder)
        left_out = frozenset((*left_out, *(place for _, place in shared)))
        check_size(self.top, left_out)
        self._folder = temporary_folders.make("acp-runs-")
        base = self._folder / BASE
        try:
            copy_files(self.top, str(base), left_out)
            nonce = secrets.token_hex(16)
            (self._folder / NONCE).write_text(nonce)
        except OSError as error:
            self.close()
            raise CopyFailed(f"the folder cannot be copied: {error}") from None
        name = os.path.basename(self.top) or "folder"
        self.spec = FolderSpec("plain", str(self._folder), name, nonce=nonce, share=tuple(shared))

    notes: tuple[str, ...] = ()

    def pack(self) -> bytes:
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz", compresslevel=1) as archive:
            archive.add(self._folder / BASE, BASE)
        return data.getvalue()

    def close(self) -> None:
        temporary_folders.remove(self._folder)


def unpack(spec: FolderSpec, data: bytes, folder: Path) -> FolderSpec:
    """Make the base of a packed snapshot in this folder. Raises CopyFailed."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            archive.extractall(folder, filter="tar")
        (folder / NONCE).write_text(spec.nonce)
    except (OSError, tarfile.TarError) as error:
        raise CopyFailed(f"the folder cannot be unpacked: {error}") from None
    return msgspec.structs.replace(spec, source=str(folder))


class PlainCopy:
    """A copy of the snapshot's files."""

    def __init__(self, spec: FolderSpec) -> None:
        """Raises CopyFailed."""
        self._base = os.path.join(spec.source, BASE)
        self._folder = temporary_folders.make("acp-run-")
        self.top = self.cwd = str(self._folder / spec.name)
        self._shared = frozenset(place for _, place in spec.share)
        try:
            copy_files(self._base, self.top)
            link(spec.share, self.top)
        except OSError as error:
            self.remove()
            raise CopyFailed(f"the folder cannot be copied: {error}") from None
        except CopyFailed:
            self.remove()
            raise
        self._known = self._signatures()
        self._set_up: dict[str, Version | None] = {}
        """What `setup` changed, as it left it."""
        self._too_large: set[str] = set()

    def _signatures(self) -> dict[str, Signature]:
        return {it: signature(os.path.join(self.top, it)) for it in paths_in(self.top, self._shared)}

    def mark(self) -> None:
        try:
            for path in self._touched():
                place = os.path.join(self.top, path)
                if os.path.isfile(place) and os.path.getsize(place) > MARKED_BYTES:
                    self._too_large.add(path)
                else:
                    self._set_up[path] = version(place)
            self._known = self._signatures()
        except OSError as error:
            raise CopyFailed(f"what setup changed cannot be determined: {error}") from None

    def changes(self) -> tuple[tuple[ChangedFile, ...], bytes]:
        try:
            files = [it for path in self._touched() if (it := self._changed(path)).before != it.after]
        except OSError as error:
            raise CopyFailed(f"what the run changed cannot be determined: {error}") from None
        patch = "".join(diff(shown(it)) for it in files)
        return bounded(files, patch.encode(errors="surrogateescape"))

    def _touched(self) -> list[str]:
        now = self._signatures()
        return sorted({path for path, _ in now.items() ^ self._known.items()})

    def _changed(self, path: str) -> ChangedFile:
        after = version(os.path.join(self.top, path))
        if path in self._too_large:
            return ChangedFile(path, None, after, "setup made it, and it is too large to compare")
        known = path in self._set_up
        before = self._set_up[path] if known else version(os.path.join(self._base, path))
        return ChangedFile(path, before, after)

    def remove(self) -> None:
        temporary_folders.remove(self._folder)


def version(path: str) -> Version | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        return Version(os.fsencode(os.readlink(path)), 0o777, link=True)
    return Version(Path(path).read_bytes(), stat.S_IMODE(status.st_mode))


def paths_in(top: str, left_out: frozenset[str] = frozenset()) -> Iterator[str]:
    """Files and links below the folder, relative to it."""
    for place, folders, files in os.walk(top):
        below = os.path.relpath(place, top)
        names = {it: os.path.normpath(os.path.join(below, it)) for it in (*folders, *files)}
        kept = {it for it, path in names.items() if it not in IGNORED and path not in left_out}
        links = [it for it in folders if it in kept and os.path.islink(os.path.join(place, it))]
        folders[:] = [it for it in folders if it in kept and it not in links]
        for name in (*links, *(it for it in files if it in kept)):
            mode = os.lstat(os.path.join(place, name)).st_mode
            if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
                yield names[name]


def check_size(top: str, left_out: frozenset[str]) -> None:
    """Raise UsageError if the folder is too large to be copied for each run."""
    total = 0
    for number, path in enumerate(paths_in(top, left_out), 1):
        total += os.lstat(os.path.join(top, path)).st_size
        if total > MOST_BYTES or number > MOST_FILES:
            raise UsageError(
                f"{top} is too large to be copied for each run (more than {MOST_BYTES >> 20} MB or "
                f"{MOST_FILES:,} files): share large folders with share=[…], or use a git repository, whose "
                "ignored files are not copied"
            )


def copy_files(source: str, target: str, left_out: frozenset[str] = frozenset()) -> None:
    os.makedirs(target)
    for path in paths_in(source, left_out):
        place = os.path.join(target, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy2(os.path.join(source, path), place, follow_symlinks=False)
