"""Files and folders that every run shares: links in its copy, to what git ignores and a run needs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from ...errors import UsageError
from .copy import CopyFailed, Shared

COPIED_BYTES = 2**20
"""A file up to this size is copied: through us, an agent reads files in its copy, and in folders that are
shared."""


def shared_paths(given: Iterable[str | os.PathLike[str]], cwd: str, top: str) -> Shared:
    """Where each path really is, and its place below the top. Raises UsageError."""
    found: list[tuple[str, str]] = []
    for it in given:
        path = os.path.normpath(os.path.join(cwd, os.fspath(it)))
        if not os.path.exists(path):
            raise UsageError(f"share: {os.fspath(it)} does not exist")
        place = os.path.relpath(path, top)
        if place == "." or place.startswith(".."):
            raise UsageError(f"share: {os.fspath(it)} is not below {top}")
        found.append((os.path.realpath(path), place))
    return tuple(found)


def link(shared: Shared, top: str) -> None:
    """Put the links, and small files, into a copy. What the copy has anyway stays. Raises CopyFailed."""
    for real, place in shared:
        path = os.path.join(top, place)
        if not os.path.lexists(path):
            if not os.path.exists(real):
                raise CopyFailed(f"{real} is shared with the runs, but does not exist on this machine")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.isfile(real) and os.path.getsize(real) <= COPIED_BYTES:
                shutil.copy2(real, path)
            else:
                os.symlink(real, path)
