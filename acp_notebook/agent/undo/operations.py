"""Undo, redo and keep: what is selected in the change log is carried out, in an order that works.

Knows the log, the disk and the page that has a notebook open; not when it may be done. What was changed since
is merged; a conflict never writes. Lives on the loop thread; files are touched on others.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from ...core import changes as ch
from ...core.changes import Step, Version
from ...core.notebook_changes import is_notebook, merged_version, with_cells_undone
from ...errors import UsageError
from ..files.file_state import (
    ATTEMPTS,
    make_folder,
    make_root,
    read_state,
    remove_empty,
    write_state,
)
from ..files.roots import FileTrouble, Roots
from ..files.unfinished import Unfinished
from ..threads import on_a_thread
from .change_log import Change, ChangeLog, Folders, Part, TurnChanges

if TYPE_CHECKING:
    from ..conversation import Conversation

Operation = Literal["undo", "redo", "keep"]

ProgressCallback = Callable[[int, int], None]
"""Called with how many files are done, of how many."""

SIDE_BY_SIDE = 8
"""Files that are written at once: each is on the disk before the next is begun, and disks take several in the
time of one."""

AT_ONCE = 200
"""Files between two calls of the progress callback."""


def no_progress(done: int, all: int) -> None:
    """For a caller that does not show how far it is."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Changes of one turn. `folders`: the empty ones that go with them, where a whole group is selected."""

    turn: TurnChanges
    changes: list[Change]
    hunk: int | None = None
    folders: Sequence[Folders] = ()


@dataclass(frozen=True, slots=True)
class _Job:
    change: Change
    wanted: frozenset[int]
    """The hunks that are to be undone."""


class UndoExecutor:
    """Carries out undo, redo and keep for one session."""

    def __init__(self, conversation: Conversation, log: ChangeLog, restorer: Restorer) -> None:
        self._conversation = conversation
        self._log = log
        self._restorer = restorer

    def selected(
        self,
        operation: Operation,
        turn: str | None,
        file: str | None,
        hunk: str | None,
        only: frozenset[str] | None,
    ) -> list[Selection]:
        """By turns, in the order in which they are carried out; raises UsageError.

        Without a file or `only`, that is what the agent changed: what also changed is always named.
        """
        if turn is None:
            turns = list(self._log.turns.values())
        elif (named := self._log.find_turn(turn)) is not None:
            turns = [named]
        else:
            raise UsageError("that turn changed no files")
        if file is not None:
            only = frozenset({file})
        found = [_selection(it, hunk, only) for it in turns]
        if turn is not None and only is not None and sum(len(it.changes) for it in found) < len(only):
            raise UsageError("that turn has no such change")
        return found if operation != "undo" else found[::-1]

    async def do(self, operation: Operation, selection: Selection, progress: Callable[[int], None]) -> None:
        """What cannot be done becomes a conflict of its change."""
        if operation == "keep":
            for change in selection.changes:
                _keep(change, selection.hunk)
        else:
            try:
                await self._carry_out(operation, selection, progress)
            finally:
                self._restorer.finished()

    async def _carry_out(
        self, operation: Operation, selection: Selection, progress: Callable[[int], None]
    ) -> None:
        undo = operation == "undo"
        stay = selection.turn.empty[0 if undo else 1]
        stay = stay | self._empty_before_undone() if undo else stay
        await on_a_thread(lambda: self._restorer.clear_folders(selection.folders, stay, undo=undo))
        jobs = _jobs(operation, selection)
        done = len(selection.changes) - len(jobs)
        for batch, count in await self._batches(operation, jobs):
            parts = [batch[number::count] for number in range(count) if batch[number::count]]
            for outcomes in await asyncio.gather(*(self._brought(it, stay) for it in parts)):
                for job, why in outcomes:
                    self._note(operation, job, why)
            done += len(batch)
            progress(done)
        await on_a_thread(lambda: self._restorer.make_folders(selection.folders, undo=undo))

    async def _batches(self, operation: Operation, jobs: Sequence[_Job]) -> list[tuple[Sequence[_Job], int]]:
        """What is done together, and how many side by side: deletions and moves, which make room, alone."""
        alone: list[_Job] = []
        apart: list[_Job] = []
        times = Counter(part.path for job in jobs for part in job.change.parts)
        for job in jobs:
            change = job.change
            single = len(change.parts) == 1 and times[change.path] == 1 and not _goes(change, operation)
            (apart if single and not await self._is_open(change) else alone).append(job)
        return [
            (some[start : start + AT_ONCE], count)
            for some, count in ((alone, 1), (apart, SIDE_BY_SIDE))
            for start in range(0, len(some), AT_ONCE)
        ]

    async def _is_open(self, change: Change) -> bool:
        """In a page, which then changes it."""
        notebooks = self._conversation.services.notebooks
        return (
            notebooks.live is not None and is_notebook(change.path) and await notebooks.is_open(change.path)
        )

    async def _brought(self, jobs: Sequence[_Job], stay: frozenset[str]) -> list[tuple[_Job, str | None]]:
        """One after the other: None, or why it cannot be."""
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
        return [(it, self._restorer.bring(it.change, it.wanted, stay)) for it in jobs]

    async def _in_page(self, job: _Job) -> str | None:
        change = job.change
        try:
            source, target = await on_a_thread(lambda: self._restorer.states(change, job.wanted))
            if source is None or target is None or change.moved_from is not None:
                return "it is open in a page: close it there first"
            await self._conversation.services.notebooks.bring(change.path, source.data, target.data)
        except FileTrouble as error:
            return str(error)
        return None

    def _empty_before_undone(self) -> frozenset[str]:
        """Empty folders of before the turns that are undone: a later turn found something in them."""
        turns = self._log.turns.values()
        undone = (it for it in turns if all(at.state == "undone" for at in it.undoable))
        return frozenset().union(*(it.empty[0] for it in undone))

    def _note(self, operation: str, job: _Job, why: str | None) -> None:
        change = job.change
        change.conflict = why
        if why is None:
            change.undone = job.wanted
            change.kept = change.kept and bool(job.wanted != change.everything)
        outcome = "done" if why is None else "failed"
        self._conversation.auditor.note("act", operation, change.path, by="user", outcome=outcome, reason=why)


def _selection(turn: TurnChanges, hunk: str | None, only: frozenset[str] | None) -> Selection:
    changes = [it for it in turn.all if it.id in only] if only is not None else turn.changes
    number = None if hunk is None or not changes else _hunk_number(changes[0], hunk)
    ids = {it.id for it in changes}
    folders = [it for key, it in turn.folders.items() if hunk is None and _is_whole(turn, key, ids, only)]
    return Selection(turn, list(changes), number, folders)


def _is_whole(turn: TurnChanges, key: str | None, ids: set[str], only: frozenset[str] | None) -> bool:
    """Whether all of a group is selected: of the agent's changes (None), or of a command's."""
    if key is None:
        return only is None or (bool(turn.changes) and ids.issuperset(it.id for it in turn.changes))
    group = turn.during(key)
    return bool(group) and ids.issuperset(it.id for it in group)


def _jobs(operation: Operation, chosen: Selection) -> list[_Job]:
    jobs: list[_Job] = []
    for change in in_order(chosen.changes, operation):
        if change.why_not is not None:
            continue
        wanted = _wanted(change, operation, chosen.hunk)
        if wanted == change.undone:  # clicked twice: what came there since is nobody's conflict
            change.conflict = None
        else:
            jobs.append(_Job(change, wanted))
    return jobs


def _keep(change: Change, hunk: int | None) -> None:
    """It stays; a file of which every hunk is kept or undone is kept."""
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
    """Nothing is left of it."""
    return all((it.before if operation == "undo" else it.after) is None for it in change.parts)


def in_order(changes: Iterable[Change], operation: Operation) -> list[Change]:
    """Deletions first, the deepest of them first, then moves: a folder may stand where a file was."""

    def order(numbered: tuple[int, Change]) -> tuple[bool, bool, int, str, int]:
        number, change = numbered
        gone = _goes(change, operation)
        depth = change.path.count("/")
        # A file that changed twice goes back by the newest change first.
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


@dataclass(frozen=True, slots=True)
class _Move:
    """One path on its way to another state."""

    path: str
    now: Version | None
    step: Step


class Restorer:
    """Brings files of one session to other states."""

    def __init__(self, roots: Roots, log: ChangeLog) -> None:
        self._roots = roots
        self._log = log
        self._unfinished = Unfinished()

    def bring(self, change: Change, undone: frozenset[int], empty: frozenset[str]) -> str | None:
        """The change's files with these hunks undone; None, or why that cannot be.

        `empty`: folders that stay, though there is nothing in them.
        """
        try:
            for _ in range(ATTEMPTS):
                moves = [self._planned(change, part, undone) for part in change.parts]
                conflict = next((it.step.conflict for it in moves if it.step.conflict), None)
                if conflict is not None:
                    return conflict
                moves.sort(key=lambda it: it.step.write is not None)  # a folder may have to go for a file
                if all(self._carried_out(move, empty) for move in moves):
                    return None
        except (FileTrouble, OSError) as error:
            return str(error)
        return "it keeps changing: try again"

    def finished(self) -> None:
        """Nothing is under way any more."""
        self._unfinished.close()

    def clear_folders(self, groups: Iterable[Folders], stay: frozenset[str], *, undo: bool) -> None:
        """Remove empty folders first: a file may have to take their place."""
        for group in groups:
            for folder in sorted(group.made if undo else group.removed, reverse=True):
                remove_empty(self._roots, folder, stay)

    def make_folders(self, groups: Iterable[Folders], *, undo: bool) -> None:
        """Make empty folders last."""
        for group in groups:
            for folder in sorted(group.removed if undo else group.made):
                make_folder(self._roots, folder)

    def _planned(self, change: Change, part: Part, undone: frozenset[int]) -> _Move:
        source = self._state(change, part, change.undone)
        target = self._state(change, part, undone)
        now = read_state(self._roots, part.path)
        return _Move(part.path, now, _step(part.path, source, target, now))

    def states(self, change: Change, undone: frozenset[int]) -> tuple[Version | None, Version | None]:
        """The file as the change says that it is, and as it is to be with these hunks undone."""
        part = change.parts[-1]
        return self._state(change, part, change.undone), self._state(change, part, undone)

    def _state(self, change: Change, part: Part, undone: frozenset[int]) -> Version | None:
        """This path, with these hunks undone. Hunks of a moved file are in its new place."""
        if undone == change.everything:
            return self._log.version(part.before)
        if not undone or part is not change.parts[-1]:
            return self._log.version(part.after)
        before, after = self._log.version(change.before), self._log.version(change.after)
        if change.shape is not None and change.shape.notebook and before is not None and after is not None:
            return replace(after, data=with_cells_undone(before.data, after.data, undone))
        return ch.partly(before, after, undone)

    def _carried_out(self, move: _Move, empty: frozenset[str]) -> bool:
        if not move.step.needed:
            return True
        if move.step.write is not None:
            make_root(self._roots, move.path)
        if not write_state(self._roots, move.path, move.step.write, move.now, self._unfinished.note):
            return False
        if move.step.write is None:
            remove_empty(self._roots, os.path.dirname(move.path), empty)
        return True


def _step(path: str, source: Version | None, target: Version | None, now: Version | None) -> Step:
    """Notebooks that were changed since are merged by their cells: lines of JSON are nobody's."""
    if not is_notebook(path) or now in (source, target) or source is None or target is None or now is None:
        return ch.step(source, target, now)
    made = merged_version(source, target, now)
    if isinstance(made, str):
        return Step(conflict=made)
    return Step(made, needed=made != now)
