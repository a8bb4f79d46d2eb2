"""How the changed files of a run are shown: with hunks, like those of a turn."""

from __future__ import annotations

from collections.abc import Iterable

from ..changes import FileChange, lines_of_diff, shape
from ..notebook_changes import is_notebook, notebook_shape
from .task import ChangedFile


def shown(file: ChangedFile, number: int = 1) -> FileChange:
    """The file with its hunks: lines, or cells of a notebook."""
    cells = notebook_shape(file.before, file.after) if is_notebook(file.path) else None
    found = cells[0] if cells is not None else shape(file.before, file.after)
    return FileChange(
        f"f{number}",
        file.path,
        found.action,
        found.added,
        found.removed,
        found.hunks,
        undoable=False,
        binary=found.binary or None,
        notebook=found.notebook or None,
        note=file.why_not or found.note,
    )


def all_shown(files: Iterable[ChangedFile]) -> tuple[FileChange, ...]:
    return tuple(shown(it, number) for number, it in enumerate(files, 1))


def diff(file: FileChange) -> str:
    """A unified diff; empty if there are no lines to compare."""
    lines = lines_of_diff(file)
    return "\n".join([f"--- {file.path}", f"+++ {file.path}", *lines]) + "\n" if lines else ""
