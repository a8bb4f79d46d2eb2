"""Undo, redo, keep: what is chosen of the book, in an order that works, carried out and noted.

Knows the book, the disk (`restoring`) and the page that has a notebook open; not when it may be done. Lives
on the loop thread; files are touched on others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from ...core.notebook_changes import is_notebook
from ...errors import UsageError
from ..files.roots import FileTrouble
from ..threads import on_a_thread
from .ledger import Change, Ledger, TurnChanges
from .restoring import Restorer

if TYPE_CHECKING:
    from ..conversation import Conversation

Deed = Literal["undo", "redo", "keep"]

Told = Callable[[int, int], None]
"""Is called with how many files are done, of how many."""

SIDE_BY_SIDE = 8
"""Files that are written at once: each is on the disk before the next is begun, and disks take several in the
time of one."""

AT_ONCE = 200
"""Files between two words on how far it is."""


def nobody(done: int, all: int) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Changes of one turn."""

    turn: TurnChanges
    changes: list[Change]
    hunk: int | None
    whole: bool
    """All that the turn changed."""


@dataclass(frozen=True, slots=True)
class _Job:
    change: Change
    wanted: frozenset[int]
    """The hunks that are to be undone."""


class Actor:
    """One session's."""

    def __init__(self, conversation: Conversation, ledger: Ledger, restorer: Restorer) -> None:
        self._conversation = conversation
        self._ledger = ledger
        self._restorer = restorer

    def chosen(
        self, deed: Deed, turn: str | None, file: str | None, hunk: str | None, only: frozenset[str] | None
    ) -> list[Chosen]:
        """By turns, in the order in which it is to be done; raises UsageError."""
        if turn is None:
            turns = list(self._ledger.turns.values())
        elif (named := self._ledger.find_turn(turn)) is not None:
            turns = [named]
        else:
            raise UsageError("that turn changed no files")
        found: list[Chosen] = []
        for it in turns:
            named_changes = [
                change for change in it.changes if file is None or turn is None or change.id == file
            ]
            if turn is not None and file is not None and not named_changes:
                raise UsageError("that turn has no such change")
            number = None if hunk is None else _hunk_number(named_changes[0], hunk)
            changes = [change for change in named_changes if only is None or change.id in only]
            found.append(Chosen(it, changes, number, file is None and len(changes) == len(it.changes)))
        return found if deed != "undo" else found[::-1]

    async def do(self, deed: Deed, chosen: Chosen, told: Callable[[int], None]) -> None:
        """What does not go is a conflict of its change."""
        if deed == "keep":
            for change in chosen.changes:
                _keep(change, chosen.hunk)
        else:
            try:
                await self._bring(deed, chosen, told)
            finally:
                self._restorer.finished()

    async def _bring(self, deed: Deed, chosen: Chosen, told: Callable[[int], None]) -> None:
        folders = chosen.turn.folders
        empty, there = folders if deed == "undo" else folders[::-1]
        stay = empty | self._empty_before_undone() if deed == "undo" else empty
        if chosen.whole:
            await on_a_thread(lambda: self._restorer.clear_folders(there, stay))
        jobs = _jobs(deed, chosen)
        done = len(chosen.changes) - len(jobs)
        for batch, count in await self._batches(deed, jobs):
            parts = [batch[number::count] for number in range(count) if batch[number::count]]
            for outcomes in await asyncio.gather(*(self._brought(it, stay) for it in parts)):
                for job, why in outcomes:
                    self._note(deed, job, why)
            done += len(batch)
            told(done)
        if chosen.whole:
            await on_a_thread(lambda: self._restorer.make_folders(there, empty))

    async def _batches(self, deed: Deed, jobs: Sequence[_Job]) -> list[tuple[Sequence[_Job], int]]:
        """What is done together, and how many side by side: deletions and moves, which make room, alone."""
        alone: list[_Job] = []
        apart: list[_Job] = []
        for job in jobs:
            single = len(job.change.parts) == 1 and not _goes(job.change, deed)
            (apart if single and not await self._is_open(job.change) else alone).append(job)
        return [
            (some[start : start + AT_ONCE], count)
            for some, count in ((alone, 1), (apart, SIDE_BY_SIDE))
            for start in range(0, len(some), AT_ONCE)
        ]

    async def _is_open(self, change: Change) -> bool:
        """In a page, which then changes it."""
        notebooks = self._conversation.hands.notebooks
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
            await self._conversation.hands.notebooks.bring(change.path, source.data, target.data)
        except FileTrouble as error:
            return str(error)
        return None

    def _empty_before_undone(self) -> frozenset[str]:
        """Empty folders of before the turns that are undone: a later turn found something in them."""
        turns = self._ledger.turns.values()
        undone = (it for it in turns if all(at.state == "undone" for at in it.undoable))
        return frozenset().union(*(it.folders[0] for it in undone))

    def _note(self, deed: str, job: _Job, why: str | None) -> None:
        change = job.change
        change.conflict = why
        if why is None:
            change.undone = job.wanted
            change.kept = change.kept and bool(job.wanted != change.everything)
        outcome = "done" if why is None else "failed"
        self._conversation.auditor.note("act", deed, change.path, by="user", outcome=outcome, reason=why)


def _jobs(deed: Deed, chosen: Chosen) -> list[_Job]:
    jobs: list[_Job] = []
    for change in in_order(chosen.changes, deed):
        if change.why_not is not None:
            continue
        wanted = _wanted(change, deed, chosen.hunk)
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


def _wanted(change: Change, deed: Deed, hunk: int | None) -> frozenset[int]:
    if hunk is None or change.parts_undoable == 0:
        return change.everything if deed == "undo" else frozenset()
    one = frozenset({hunk})
    return change.undone | one if deed == "undo" else change.undone - one


def _goes(change: Change, deed: Deed) -> bool:
    """Nothing is left of it."""
    return all((it.before if deed == "undo" else it.after) is None for it in change.parts)


def in_order(changes: Iterable[Change], deed: Deed) -> list[Change]:
    """Deletions first, the deepest of them first, then moves: a folder may stand where a file was."""

    def order(change: Change) -> tuple[bool, bool, int]:
        gone = _goes(change, deed)
        depth = change.path.count("/")
        return not gone, len(change.parts) == 1, -depth if gone else depth

    return sorted(changes, key=order)


def _hunk_number(change: Change, hunk: str) -> int:
    hunks = () if change.shape is None else change.shape.hunks
    number = next((at for at, it in enumerate(hunks) if it.id == hunk), None)
    if number is None:
        raise UsageError("that change has no such part")
    return number
