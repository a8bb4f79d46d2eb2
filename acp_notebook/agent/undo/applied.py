"""Applies changes that were made in a copy of a folder to the folder itself, and undoes them like a turn's.

Merges three versions, as undo does: by line, notebooks by cell, an open one in its page. A conflict writes
nothing. Runs on the loop thread; work threads access files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial

from ... import timeouts
from ...core.changes import FileChange
from ...core.document_protocol import OpenNotebooks
from ...core.fan_out.task import ChangedFile
from ...errors import UsageError
from ..auditor import Auditor
from ..files.blob_store import BlobStore, Full
from ..files.notebook_files import NotebookFiles
from ..files.roots import Roots
from ..threads import on_a_thread
from .change_log import Change, ChangeLog, Part, TurnChanges, shown_turn
from .change_tracker import ChangeTracker
from .operations import Operation, Restorer, Selection, UndoExecutor
from .overlaps import note_undo, share_folders


class CannotApply(Exception):
    """Some changes cannot be applied or undone; nothing was changed. The message lists them."""


class AppliedChanges:
    """Changes of a folder that can be applied, undone, applied again and kept: all of them, or by file and
    hunk. Several files are changed together or not at all."""

    def __init__(
        self,
        top: str,
        files: Sequence[ChangedFile],
        live: OpenNotebooks | None = None,
        *,
        name: str = "run",
        by: str | None = None,
        trackers: Callable[[], Sequence[ChangeTracker]] = lambda: (),
        on_change: Callable[[bool], None] = lambda applied: None,
    ) -> None:
        """`top`: the folder. `live`: the notebooks that pages have open. `name` stands where changes of a
        session have their turn, `by` is who made them. `trackers`: those of the sessions that are open.
        `on_change` is called with whether something is applied now."""
        self.top = os.path.realpath(top)
        self._files = files
        self._by = by
        self._trackers = trackers
        self._on_change = on_change
        self._roots = Roots([self.top])
        self.log = ChangeLog(BlobStore())
        self.turn = TurnChanges(name, name)
        self._notebooks = NotebookFiles(self._roots, lambda notice: None, lambda: (None, None))
        self._notebooks.live = live
        self._restorer = Restorer(self._roots, self.log, partial(note_undo, self._roots.folders))
        auditor = Auditor(lambda: ("", None))
        self._executor = UndoExecutor(self._notebooks, auditor, self.log, self._restorer)
        self._busy = asyncio.Lock()

    @property
    def shown(self) -> tuple[FileChange, ...]:
        """The files, relative to the folder, with their hunks and states, as far as a page shows them."""
        return shown_turn(self.turn, lambda path: os.path.relpath(path, self.top))[0]

    async def apply(self) -> None:
        """Apply all changes for the first time, or none. Raises CannotApply.

        Sessions that are open in the folder list them from now on.
        """
        changes = await on_a_thread(self._entered)
        self.turn.changes = changes
        await self.act("redo")
        if failed := self.conflicts(changes):
            raise CannotApply(failed)
        self.log.turns[self.turn.id] = self.turn
        for tracker in self._nearby():
            tracker.enter_applied(self)

    async def act(
        self,
        operation: Operation,
        file: str | None = None,
        hunk: str | None = None,
        *,
        only: frozenset[str] | None = None,
    ) -> list[Change]:
        """Carry out the operation for all files, for one file or hunk, or for some files (`only`), and return
        them. If one of them has a conflict, which it then shows, nothing is changed. Raises UsageError."""
        limit = timeouts.get().changes_settle
        await asyncio.gather(*(it.wait_settled(limit) for it in self._nearby()))
        async with self._busy:
            chosen = only if file is None else frozenset({file})
            selected = Selection.of(self.turn, hunk, chosen)
            if chosen is not None and len(selected.changes) < len(chosen):
                raise UsageError("that run has no such change")
            if operation == "keep":
                await self._executor.do(operation, selected, lambda done: None)
            else:
                await self._restore(operation, selected)
            self._on_change(any(it.undone != it.everything for it in self.turn.changes))
            return selected.changes

    def conflicts(self, changes: Sequence[Change]) -> str:
        """A line for each conflict."""
        found = [it for it in changes if it.conflict is not None]
        return "\n".join(f"  {os.path.relpath(it.path, self.top)}: {it.conflict}" for it in found)

    async def _restore(self, operation: Operation, selected: Selection) -> None:
        before = {it.id: it.undone for it in selected.changes}
        kept = [it for it in selected.changes if it.kept]
        wanted = selected.wanted_by(operation)

        def check() -> None:
            for it in selected.changes:
                is_done = it.undone == wanted[it.id]  # then later edits of the file are no conflict
                it.conflict = None if is_done else self._restorer.conflict(it, wanted[it.id])

        await on_a_thread(check)
        if any(it.conflict for it in selected.changes):
            return
        await self._executor.do(operation, selected, lambda done: None)
        if any(it.conflict for it in selected.changes):  # one that only its page could know
            done = [it for it in selected.changes if it.conflict is None]
            back: Operation = "undo" if operation == "redo" else "redo"
            await self._executor.do(back, Selection(self.turn, done, wanted=before), lambda done: None)
            for it in kept:
                it.kept = True

    def _nearby(self) -> list[ChangeTracker]:
        """The trackers of sessions that work in the folder, above or below it."""
        return [it for it in self._trackers() if share_folders(it.folders, [self.top])]

    def _entered(self) -> list[Change]:
        """The changes as entries of the log, not applied yet. Raises CannotApply."""
        if bad := [f"  {it.path}: {why}" for it in self._files if (why := why_not(it)) is not None]:
            raise CannotApply("\n".join(bad))
        made: list[Change] = []
        try:
            for it in self._files:
                path = os.path.join(self.top, it.path)
                part = Part(path, self.log.keep(it.before), self.log.keep(it.after))
                made.append(Change(self.log.new_id(), self.turn.id, (part,), via="other", by=self._by))
        except (OSError, Full) as error:
            raise CannotApply(f"  {error}") from None
        self.log.survey(made)
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
