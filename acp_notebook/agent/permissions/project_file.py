"""Finds and reads a project's settings file.

Does not interpret the file and does not trust it: the author of the project wrote it, not the user.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import ClassVar

from ...core.records import Guarded
from ...errors import Error

PROJECT_FILE = ".acp_notebook.toml"

MAX_BYTES = 64_000
"""Size limit: settings fit on a page."""

MAX_LEVELS = 64
"""How many parent folders to search."""


class ProjectFile(Guarded, frozen=True):
    """The content of the file, read once: the hash covers the bytes in use, even if the file changes."""

    _unshown: ClassVar[tuple[str, ...]] = ("data",)
    path: str
    data: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def find_project_file(cwd: str) -> str | None:
    """The nearest settings file between `cwd` and the top of its repository.

    Without a repository, looks only in `cwd`.
    """
    here = os.path.realpath(cwd)
    folders = [here]
    while not os.path.lexists(os.path.join(folders[-1], ".git")):
        above = os.path.dirname(folders[-1])
        if above == folders[-1] or len(folders) > MAX_LEVELS:
            folders = [here]  # no repository
            break
        folders.append(above)
    candidates = (os.path.join(folder, PROJECT_FILE) for folder in folders)
    return next((it for it in candidates if os.path.lexists(it)), None)


def read_project_file(path: str) -> ProjectFile:
    """Read the file. Raises Error if it is a link, not a regular file, or too large."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        why = "it is a symbolic link" if os.path.islink(path) else str(error.strerror)
        raise Error(f"{path} is not used: {why}") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Error(f"{path} is not used: it is not a regular file")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Error(f"{path} is not used: {error.strerror}") from None
    finally:
        os.close(handle)
    if len(data) > MAX_BYTES:
        raise Error(f"{path} is not used: it is bigger than {MAX_BYTES:,} bytes")
    return ProjectFile(path, data)
