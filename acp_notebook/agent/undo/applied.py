"""Applies changes that were made in a copy of a folder to the folder itself, and undoes them like a turn's.

Merges three versions, as undo does: by line, notebooks by cell, an open one in its page. A conflict writes
nothing. Runs on the loop thread; work threads access files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from ...core.changes import FileChange
from ...core.document_protocol import OpenNotebooks
from ...core.fan_out.task import ChangedFile
from ..auditor import Auditor
from ..files.blob_store import BlobStore, Full
from ..files.notebook_files import NotebookFiles
from ..files.roots import Roots
from ..threads import on_a_thread
from .change_log import Change, ChangeLog, Part, TurnChanges, shown_file
from .operations import Operation, Restorer, Selection, UndoExecutor
from .overlaps import note_undo


class CannotApply(Exception):
    """Some changes cannot be applied or undone; nothing was changed. The message lists them."""


class AppliedChanges:
    """Changes of a folder that can be applied, undone and applied again."""

    def __init__(self, top: str, files: Sequence[ChangedFile], live: OpenNotebooks | None = None) -> None:
        """`top`: the folder. `live`: the notebooks that pages have open."""
        self._top = os.path.realpath(top)
        self._files = files
        self._roots = Roots([self._top])
        self._log = ChangeLog(BlobStore())
        self._turn = TurnChanges("run", "run")
        notebooks = NotebookFiles(self._roots, lambda notice: None, lambda: (None, None))
        notebooks.live = live
        self._restorer = Restorer(self._roots, self._log, partial(note_undo, self._roots.folders))
        auditor = Auditor(lambda: ("", None))
        self._executor = UndoExecutor(notebooks, auditor, self._log, self._restorer)

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The files, with their hunks and states."""
        return tuple(
            shown_file(it, lambda path: os.path.relpath(path, self._top)) for it in self._turn.changes
        )

    async def apply(self) -> None:
        """Apply all changes, or none. Raises CannotApply."""
        if not self._turn.changes:
            self._turn.changes = await on_a_thread(self._entered)
        await self._do("redo")

    async def revert(self) -> None:
        """Undo all changes, or none. Raises CannotApply."""
        await self._do("undo")

    async def _do(self, operation: Operation) -> None:
        wanted = [it for it in self._turn.changes if (it.state == "undone") is (operation == "redo")]
        conflicts = await on_a_thread(lambda: [self._conflict(it, operation) for it in wanted])
        if not any(conflicts):
            await self._executor.do(operation, Selection(self._turn, wanted), lambda done: None)
            conflicts = [self._told(it, it.conflict) for it in wanted]
            if any(conflicts):  # one that only its page could know: take the others back
                done = [it for it in wanted if it.conflict is None]
                back: Operation = "undo" if operation == "redo" else "redo"
                await self._executor.do(back, Selection(self._turn, done), lambda done: None)
        if found := [it for it in conflicts if it is not None]:
            raise CannotApply("\n".join(found))

    def _conflict(self, change: Change, operation: Operation) -> str | None:
        undone = change.everything if operation == "undo" else frozenset[int]()
        return self._told(change, self._restorer.conflict(change, undone))

    def _told(self, change: Change, why: str | None) -> str | None:
        return None if why is None else f"  {os.path.relpath(change.path, self._top)}: {why}"

    def _entered(self) -> list[Change]:
        """The changes as entries of the log, not applied yet. Raises CannotApply."""
        if bad := [f"  {it.path}: {why}" for it in self._files if (why := why_not(it)) is not None]:
            raise CannotApply("\n".join(bad))
        made: list[Change] = []
        try:
            for it in self._files:
                path = os.path.join(self._top, it.path)
                part = Part(path, self._log.keep(it.before), self._log.keep(it.after))
                made.append(Change(self._log.new_id(), self._turn.id, (part,)))
        except (OSError, Full) as error:
            raise CannotApply(f"  {error}") from None
        self._log.survey(made)
        for change in made:
            change.undone = change.everything
        return made


def why_not(file: ChangedFile) -> str | None:
    """Why a change is not applied. Its path comes from a worker or a file: it must stay in the folder."""
    parts = file.path.split("/")
    if os.path.isabs(file.path) or not file.path or {"", ".", ".."} & set(parts):
        return "this is not a path below the folder"
    if any(it.lower() == ".git" for it in parts):
        return "a run cannot change the repository itself"
    return file.why_not
