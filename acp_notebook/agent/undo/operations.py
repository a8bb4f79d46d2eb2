"""Undo, redo and keep: applies them to selected changes of the change log, in an order that works.

Merges with later edits; on a conflict it writes nothing. Knows the log, the disk and the page that has a
notebook open; the caller decides when undoing is safe. Runs on the loop thread; work threads access files.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ...core import changes as ch
from ...core.changes import Step, Version
from ...core.notebook_changes import is_notebook, merged_version, with_cells_undone
from ...errors import UsageError
from ..auditor import Auditor
from ..files.file_state import ATTEMPTS, make_folder, make_root, read_state, remove_empty, write_state
from ..files.notebook_files import NotebookFiles
from ..files.open_texts import OpenTexts
from ..files.roots import FileTrouble, Roots
from ..files.unfinished import Unfinished
from ..threads import on_a_thread
from .change_log import Change, ChangeLog, Folders, Part, TurnChanges

Operation = Literal["undo", "redo", "keep"]

ProgressCallback = Callable[[int, int], None]
"""Called with the number of files done and the total."""

SIDE_BY_SIDE = 8
"""Files written in parallel: each write waits for its fsync, and disks do several in the time of one."""

AT_ONCE = 200
"""Files between two calls of the progress callback."""


def no_progress(done: int, all: int) -> None:
    """A progress callback that does nothing."""


class Selection(Struct, frozen=True):
    """Selected changes of one turn. `folders`: the empty folders of the groups that are fully selected."""

    turn: TurnChanges
    changes: list[Change]
    hunk: int | None = None
    folders: Sequence[Folders] = ()
    wanted: Mapping[str, frozenset[int]] = {}
    """The hunks that are undone afterwards, by the id of the change, if not all or one of them."""

    @classmethod
    def of(cls, turn: TurnChanges, hunk: str | None, only: frozenset[str] | None) -> Selection:
        """A hunk, some changes (`only`: their ids), or the agent's changes. Raises UsageError."""
        changes = [it for it in turn.all if it.id in only] if only is not None else turn.changes
        number = None if hunk is None or not changes else _hunk_number(changes[0], hunk)
        ids = {it.id for it in changes}
        folders = [it for key, it in turn.folders.items() if hunk is None and _is_whole(turn, key, ids, only)]
        return cls(turn, list(changes), number, folders)

    def wanted_by(self, operation: Operation) -> Mapping[str, frozenset[int]]:
        """The hunks of each change that are undone after the operation."""
        return {it.id: _wanted(it, operation, self.hunk) for it in self.changes} | dict(self.wanted)


class _Job(Struct, frozen=True):
    change: Change
    wanted: frozenset[int]
    """The hunks that are undone afterwards."""


class UndoExecutor:
    """Carries out undo, redo and keep for one session."""

    def __init__(
        self,
        notebooks: NotebookFiles,
        auditor: Auditor,
        log: ChangeLog,
        restorer: Restorer,
        texts: OpenTexts | None = None,
    ) -> None:
        """`texts`: those that pages have open with unsaved changes."""
        self._texts = texts
        self._notebooks = notebooks
        self._auditor = auditor
        self._log = log
        self._restorer = restorer

    def select(
        self,
        operation: Operation,
        turn: str | None,
        file: str | None,
        hunk: str | None,
        only: frozenset[str] | None,
    ) -> list[Selection]:
        """The selected changes by turn, in the order in which to carry them out. Raises UsageError.

        Without `file` or `only` these are the agent's changes; other changes must be named.
        """
        if turn is None:
            turns = list(self._log.turns.values())
        elif (named := self._log.find_turn(turn)) is not None:
            turns = [named]
        else:
            raise UsageError("that turn changed no files")
        if file is not None:
            only = frozenset({file})
        found = [Selection.of(it, hunk, only) for it in turns]
        if turn is not None and only is not None and sum(len(it.changes) for it in found) < len(only):
            raise UsageError("that turn has no such change")
        return found if operation != "undo" else found[::-1]

    async def do(
        self,
        operation: Operation,
        selection: Selection,
        progress: Callable[[int], None],
        person: str | None = None,
    ) -> None:
        """Carry out the operation. A change for which that fails gets a conflict."""
        if operation == "keep":
            for change in selection.changes:
                _keep(change, selection.hunk)
        else:
            try:
                await self._carry_out(operation, selection, progress, person)
            finally:
                self._restorer.finished()

    async def _carry_out(
        self,
        operation: Operation,
        selection: Selection,
        progress: Callable[[int], None],
        person: str | None,
    ) -> None:
        undo = operation == "undo"
        stay = selection.turn.empty[0 if undo else 1]
        stay = stay | self._empty_before_undone() if undo else stay
        await on_a_thread(lambda: self._restorer.clear_folders(selection.folders, stay, undo=undo))
        jobs = _jobs(operation, selection)
        done = len(selection.changes) - len(jobs)
        for batch, count in await self._batches(operation, jobs):
            size = -(-len(batch) // count)  # neighbours together: threads in one folder wait for each other
            parts = [batch[start : start + size] for start in range(0, len(batch), size)]
            for outcomes in await asyncio.gather(*(self._restore(it, stay) for it in parts)):
                for job, why in outcomes:
                    self._note(operation, job, why, person)
            done += len(batch)
            progress(done)
        await on_a_thread(lambda: self._restorer.make_folders(selection.folders, undo=undo))

    async def _batches(self, operation: Operation, jobs: Sequence[_Job]) -> list[tuple[Sequence[_Job], int]]:
        """Batches of jobs, each with the number of jobs to run in parallel.

        Deletions and moves run first and one at a time: they may make room for other files.
        """
        serial: list[_Job] = []
        parallel: list[_Job] = []
        times = Counter(part.path for job in jobs for part in job.change.parts)
        for job in jobs:
            change = job.change
            single = len(change.parts) == 1 and times[change.path] == 1 and not _goes(change, operation)
            (parallel if single and not await self._is_open(change) else serial).append(job)
        return [
            (some[start : start + AT_ONCE], count)
            for some, count in ((serial, 1), (parallel, SIDE_BY_SIDE))
            for start in range(0, len(some), AT_ONCE)
        ]

    async def _is_open(self, change: Change) -> bool:
        """Whether a page has the file open. The page then makes the change."""
        if not is_notebook(change.path):
            return change.live and await self._is_in_tab(change.path)
        try:
            return self._notebooks.live is not None and await self._notebooks.is_open(change.path)
        except FileTrouble:
            return False  # the disk says why

    async def _is_in_tab(self, path: str) -> bool:
        try:
            return self._texts is not None and await self._texts.is_open(path)
        except FileTrouble:
            return True  # the tab has the change, not the disk; the next try says why it cannot be undone

    async def _restore(self, jobs: Sequence[_Job], stay: frozenset[str]) -> list[tuple[_Job, str | None]]:
        """Run the jobs one after the other; return for each None, or why it failed."""
        found: list[tuple[_Job, str | None]] = []
        waiting: list[_Job] = []
        for job in jobs:
            if await self._is_open(job.change):
                found += await on_a_thread(partial(self._on_disk, waiting, stay))
                found.append((job, await self._in_page(job)))
                waiting = []
            else:
                waiting.append(job)
        return [*found, *(await on_a_thread(partial(self._on_disk, waiting, stay)))]

    def _on_disk(self, jobs: Sequence[_Job], stay: frozenset[str]) -> list[tuple[_Job, str | None]]:
        return [(it, self._restorer.restore(it.change, it.wanted, stay)) for it in jobs]

    async def _in_page(self, job: _Job) -> str | None:
        change = job.change
        try:
            source, target = await on_a_thread(lambda: self._restorer.states(change, job.wanted))
            if not is_notebook(change.path):
                assert self._texts is not None and source is not None and target is not None
                return await self._texts.apply_change(change.path, source, target)
            if source is None or target is None or change.moved_from is not None:
                return "the notebook is open in a page: close it there first"
            await self._notebooks.apply_change(change.path, source.data, target.data)
        except FileTrouble as error:
            return str(error)
        return None

    def _empty_before_undone(self) -> frozenset[str]:
        """Folders that were empty before turns that are undone; a later turn may have seen files in them."""
        turns = self._log.turns.values()
        undone = (it for it in turns if all(at.state == "undone" for at in it.undoable))
        return frozenset().union(*(it.empty[0] for it in undone))

    def _note(self, operation: str, job: _Job, why: str | None, person: str | None) -> None:
        change = job.change
        change.conflict = why
        if why is None:
            change.undone = job.wanted
            change.kept = change.kept and bool(job.wanted != change.everything)
            change.undone_by = person if job.wanted else None
        outcome = "done" if why is None else "failed"
        self._auditor.note(
            "act", operation, change.path, by="user", outcome=outcome, reason=why, person=person
        )


def _is_whole(turn: TurnChanges, key: str | None, ids: set[str], only: frozenset[str] | None) -> bool:
    """Whether a whole group is selected: a command's changes, or the agent's if `key` is None."""
    if key is None:
        return only is None or (bool(turn.changes) and ids.issuperset(it.id for it in turn.changes))
    group = turn.during(key)
    return bool(group) and ids.issuperset(it.id for it in group)


def _jobs(operation: Operation, chosen: Selection) -> list[_Job]:
    jobs: list[_Job] = []
    after = chosen.wanted_by(operation)
    for change in in_order(chosen.changes, operation):
        if change.why_not is not None:
            continue
        wanted = after[change.id]
        if wanted == change.undone:  # a second click: later edits of the file are no conflict
            change.conflict = None
        else:
            jobs.append(_Job(change, wanted))
    return jobs


def _keep(change: Change, hunk: int | None) -> None:
    """Mark the change or one hunk as kept. A file is kept once each hunk is kept or undone."""
    if hunk is not None and change.parts_undoable > 1:
        change.kept_hunks |= {hunk}
        if change.kept_hunks | change.undone != change.everything:
            return
    change.kept, change.conflict = True, None


def _wanted(change: Change, operation: Operation, hunk: int | None) -> frozenset[int]:
    if hunk is None or change.parts_undoable == 0:
        return change.everything if operation == "undo" else frozenset()
    one = frozenset({hunk})
    return change.undone | one if operation == "undo" else change.undone - one


def _goes(change: Change, operation: Operation) -> bool:
    """Whether the operation deletes every path of the change."""
    return all((it.before if operation == "undo" else it.after) is None for it in change.parts)


def in_order(changes: Iterable[Change], operation: Operation) -> list[Change]:
    """Sort deletions first, the deepest before the others, then moves: a folder may be where a file goes."""

    def order(numbered: tuple[int, Change]) -> tuple[bool, bool, int, str, int]:
        number, change = numbered
        gone = _goes(change, operation)
        depth = change.path.count("/")
        # If a file changed twice, undo the newest change first.
        newest = -number if operation == "undo" else number
        return not gone, len(change.parts) == 1, -depth if gone else depth, change.path, newest

    return [change for _, change in sorted(enumerate(changes), key=order)]


def _hunk_number(change: Change, hunk: str) -> int:
    hunks = () if change.shape is None else change.shape.hunks
    number = next((at for at, it in enumerate(hunks) if it.id == hunk), None)
    if number is None:
        raise UsageError("that change has no such part")
    return number


# ---- on disk --------------------------------------------------------------------------------------


class _Transition(Struct, frozen=True):
    """One path, its current state, and the step to the state it should have."""

    path: str
    now: Version | None
    step: Step


Noted = Callable[[str, Version | None, Version | None], None]


class Restorer:
    """Restores earlier or later states of files on the disk."""

    def __init__(self, roots: Roots, log: ChangeLog, noted: Noted = lambda path, before, after: None) -> None:
        """`noted` is called, on a work thread, with each path that was written and its states."""
        self._roots = roots
        self._log = log
        self._noted = noted
        self._unfinished = Unfinished()

    def restore(self, change: Change, undone: frozenset[int], empty: frozenset[str]) -> str | None:
        """Write the change's files with these hunks undone; return None, or why that failed.

        `empty`: folders to keep even if they become empty.
        """
        try:
            for _ in range(ATTEMPTS):
                steps = _in_order([self._plan(change, part, undone) for part in change.parts])
                conflict = next((it.step.conflict for it in steps if it.step.conflict), None)
                if conflict is not None:
                    return conflict
                if all(self._carry_out(it, empty) for it in steps):
                    return None
        except (FileTrouble, OSError) as error:
            return str(error)
        return "the file keeps changing: try again"

    def conflict(self, change: Change, undone: frozenset[int]) -> str | None:
        """Why `restore` would fail; None if it would not."""
        try:
            steps = [self._plan(change, part, undone) for part in change.parts]
        except (FileTrouble, OSError) as error:
            return str(error)
        return next((it.step.conflict for it in steps if it.step.conflict), None)

    def finished(self) -> None:
        """Call this when no write is in progress any more."""
        self._unfinished.close()

    def clear_folders(self, groups: Iterable[Folders], stay: frozenset[str], *, undo: bool) -> None:
        """Remove empty folders; call this first, because a file may take their place."""
        for group in groups:
            for folder in sorted(group.made if undo else group.removed, reverse=True):
                remove_empty(self._roots, folder, stay)

    def make_folders(self, groups: Iterable[Folders], *, undo: bool) -> None:
        """Create empty folders; call this last."""
        for group in groups:
            for folder in sorted(group.removed if undo else group.made):
                make_folder(self._roots, folder)

    def _plan(self, change: Change, part: Part, undone: frozenset[int]) -> _Transition:
        source = self._state(change, part, change.undone)
        target = self._state(change, part, undone)
        now = read_state(self._roots, part.path)
        return _Transition(part.path, now, merged_step(part.path, source, target, now))

    def states(self, change: Change, undone: frozenset[int]) -> tuple[Version | None, Version | None]:
        """The state that the log expects the file to have, and its state with these hunks undone."""
        part = change.parts[-1]
        return self._state(change, part, change.undone), self._state(change, part, undone)

    def _state(self, change: Change, part: Part, undone: frozenset[int]) -> Version | None:
        """The state of the path with these hunks undone. Hunks of a moved file apply to its new path."""
        if undone == change.everything:
            return self._log.version(part.before)
        if not undone or part is not change.parts[-1]:
            return self._log.version(part.after)
        before, after = self._log.version(change.before), self._log.version(change.after)
        if change.shape is not None and change.shape.notebook and before is not None and after is not None:
            return replace(after, data=with_cells_undone(before.data, after.data, undone))
        return ch.partly(before, after, undone)

    def _carry_out(self, it: _Transition, empty: frozenset[str]) -> bool:
        """Write the new state. False: the file changed in the meantime."""
        if not it.step.needed:
            return True
        if it.step.write is not None:
            make_root(self._roots, it.path)
        if not write_state(self._roots, it.path, it.step.write, it.now, self._unfinished.note):
            return False
        self._noted(it.path, it.now, it.step.write)
        if it.step.write is None:
            remove_empty(self._roots, os.path.dirname(it.path), empty)
        return True


def _in_order(steps: Sequence[_Transition]) -> list[_Transition]:
    """Writes first: if one fails, nothing is lost. But a folder needs the place of a file, or vice versa."""
    paths = [it.path for it in steps]
    nested = any(one.startswith(f"{other}/") for one in paths for other in paths)
    return sorted(steps, key=lambda it: (it.step.write is None) is not nested)


def merged_step(path: str, source: Version | None, target: Version | None, now: Version | None) -> Step:
    """The step from `source` to `target`. A notebook that changed since is merged by cell, not by line."""
    if not is_notebook(path) or now in (source, target) or source is None or target is None or now is None:
        return ch.step(source, target, now)
    made = merged_version(source, target, now)
    if isinstance(made, str):
        return Step(conflict=made)
    return Step(made, needed=made != now)
