"""Which file the notebook in a page is: proved by what the server tells of it, never guessed by its name.

Knows paths and files, no page: a page says by which path the server knows the notebook, and what the
server tells of the file there. Where that path begins is not known here, so there are several candidates;
the one whose time, size and content are those that the server tells is the file. Blocks.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from datetime import datetime

from ..core.document_protocol import FileFacts
from .ipykernel_compat import running_kernel

STARTED_IN = os.getcwd()
"""The kernel's first folder, where the server put it; the user's code may go elsewhere."""

SAME_S = 0.002
"""Between two readings of one file's time: servers tell it in text, by microseconds, rounded."""

_NAMES = ("__vsc_ipynb_file__", "__session__")
"""Variables of the user's namespace by which front ends tell the notebook's path."""


def started_as() -> list[str]:
    """Paths of the notebook that this kernel was started for; after a rename they are of the past."""
    namespace = getattr(getattr(running_kernel(), "shell", None), "user_ns", None) or {}
    told = [os.environ.get("JPY_SESSION_NAME"), *(namespace.get(name) for name in _NAMES)]
    return list(dict.fromkeys(it for it in told if isinstance(it, str) and os.path.isabs(it)))


def candidates(path: str, started: list[str]) -> Iterator[str]:
    """Real paths that a path of the server's can mean, the likeliest first."""
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
    """JupyterLab names a drive, where there are several."""
    return (path.partition(":")[2] or path).lstrip("/")


def _folders(relative: str, started: list[str]) -> list[str]:
    """Where the server's paths can begin."""
    folders = [it[: -len(relative)] for it in started if it.endswith(f"/{relative}")]
    for start in (*map(os.path.dirname, started), STARTED_IN):
        folders += [start, *_above(start)]
    return folders


def served(path: str, file: str, started: list[str], folders: Sequence[str]) -> list[tuple[str, str]]:
    """Beginnings of paths here, and what the server calls them, if its `path` is this `file`.

    Nothing where that leaves a doubt. `folders`: more beginnings that matter, as the user names them.
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


def is_told_of(path: str, facts: FileFacts) -> bool:
    """Whether the file is the one that the server tells of: the same time, size and content."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            told = datetime.fromisoformat(facts.last_modified).timestamp()
            if abs(told - status.st_mtime) > SAME_S or facts.size not in (None, status.st_size):
                return False
            if facts.hash is None:
                return facts.size is not None
            return hashlib.file_digest(file, facts.hash_algorithm or "").hexdigest() == facts.hash
    except (OSError, ValueError):  # gone, or a time or an algorithm that nobody knows
        return False


def is_same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
