"""Find the file of the notebook in a page: proved by the server's metadata, never guessed by name.

Works on paths and files, without a page: the page reports the notebook's path on the server and the server's
metadata of that file. The server's root folder is not known here, so there are several candidates; the file
is the one whose time, size and content match the metadata. The functions block.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from datetime import datetime

from ..core.document_protocol import FileFacts
from .ipykernel_compat import running_kernel

STARTED_IN = os.getcwd()
"""The kernel's first working folder, set by the server; the user's code may change it later."""

SAME_S = 0.002
"""Modification times this close count as equal: servers report them as text, rounded to microseconds."""

_NAMES = ("__vsc_ipynb_file__", "__session__")
"""Variables in the user's namespace in which front ends store the notebook's path."""


def started_paths() -> list[str]:
    """Paths of the notebook that this kernel was started for; outdated after a rename."""
    namespace = getattr(getattr(running_kernel(), "shell", None), "user_ns", None) or {}
    stated = [os.environ.get("JPY_SESSION_NAME"), *(namespace.get(name) for name in _NAMES)]
    return list(dict.fromkeys(it for it in stated if isinstance(it, str) and os.path.isabs(it)))


def candidates(path: str, started: list[str]) -> Iterator[str]:
    """Real paths that a server path can mean, the most likely first."""
    relative = _relative(path)
    if not relative:
        return
    seen: set[str] = set()
    for folder in _folders(relative, started):
        real = os.path.realpath(os.path.join(folder, relative))
        if real not in seen:
            seen.add(real)
            yield real


def _relative(path: str) -> str:
    """Strip the drive, which JupyterLab adds where there are several."""
    return (path.partition(":")[2] or path).lstrip("/")


def _folders(relative: str, started: list[str]) -> list[str]:
    """Folders that can be the server's root."""
    folders = [it[: -len(relative)] for it in started if it.endswith(f"/{relative}")]
    for start in (*map(os.path.dirname, started), STARTED_IN):
        folders += [start, *_above(start)]
    return folders


def server_prefixes(
    path: str, file: str, started: list[str], folders: Sequence[str]
) -> list[tuple[str, str]]:
    """Map local path prefixes to server paths, given that the server's `path` is this `file`.

    Empty if the mapping is ambiguous. `folders`: further local prefixes to map, as the user spells them.
    """
    relative, real = _relative(path), os.path.realpath(file)
    named = [it for it in _folders(relative, started) if os.path.realpath(os.path.join(it, relative)) == real]
    roots = {os.path.realpath(it) for it in named}
    if len(roots) != 1:
        return []
    root = roots.pop()
    found = {root: "", **{os.path.normpath(it): "" for it in named}}
    for folder in folders:
        inside = os.path.relpath(os.path.realpath(folder), root)
        if inside != os.pardir and not inside.startswith(f"{os.pardir}/"):
            found.setdefault(os.path.normpath(folder), "" if inside == os.curdir else inside)
    return sorted(found.items(), key=lambda it: -len(it[0]))


def _above(folder: str) -> Iterator[str]:
    while (parent := os.path.dirname(folder)) != folder:
        yield parent
        folder = parent


def matches(path: str, facts: FileFacts) -> bool:
    """Whether the file has the time, size and content that the server reports."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            modified = datetime.fromisoformat(facts.last_modified).timestamp()
            if abs(modified - status.st_mtime) > SAME_S or facts.size not in (None, status.st_size):
                return False
            if facts.hash is None:
                return facts.size is not None
            return hashlib.file_digest(file, facts.hash_algorithm or "").hexdigest() == facts.hash
    except (OSError, ValueError):  # the file is gone, or the time or hash algorithm is not understood
        return False


def is_same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
