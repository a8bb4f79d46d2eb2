"""The session's folders before and after a turn: marked in time, or not at all, and compared.

Knows how long one may wait; how a mark is made is `shadow`'s business, or `plain`'s. Lives on the loop
thread; everything else happens on others.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..threads import on_a_thread
from .covers import Cover, Found, Mark, NotCovered
from .git import program
from .leftovers import sweep
from .plain import Plain
from .shadow import Shadow

START_S = 1.0
"""A turn's start waits no longer than this for its checkpoint: else it goes on without one, and says so."""

END_S = 60.0
"""For the checkpoint after a turn, which nobody waits for that long: see `Undoing.turn_ends`."""

LATE = "it was not ready in time"


@dataclass
class Marks:
    """The folders before a turn; `missing`: why there is no mark of one."""

    marks: dict[Folder, Mark] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    turn: int = 0
    """Which one of the session, from 1."""
    told: tuple[str, ...] | None = None
    """What was said of it when it was recorded, …"""
    filled: frozenset[str] = frozenset()
    """… and the folders that were empty before it, and are not any more."""
    ends: dict[Folder, int] = field(default_factory=dict)
    """When the turn was over, by the clock of `Mark.at`."""

    @property
    def empty(self) -> frozenset[str]:
        return self.filled.union(*(mark.empty for mark in self.marks.values()))


class Folder:
    """One folder that is covered; what is under way is not begun twice."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._cover: Cover | None = None
        self._task: asyncio.Task[Mark] | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._took: float | None = None

    def __hash__(self) -> int:
        return id(self)

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self._cover is None else self._cover.notes

    def mark(self) -> asyncio.Task[Mark]:
        """The mark that is being made, or a new one."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(on_a_thread(self._mark, "acp-checkpoint"))
            self._task.add_done_callback(_taken)
        return self._task

    @property
    def busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def _mark(self) -> Mark:
        begun = time.monotonic()
        try:
            return self._covering().mark()
        finally:
            self._took = time.monotonic() - begun

    @property
    def state(self) -> str:
        """How it is looked at, and what that cost last; from any thread."""
        if self._took is None:
            return "not looked at yet"
        took = f"the last look took {self._took:.2f} s"
        match self._cover:
            case Shadow() as shadow:
                return f"{'watched' if shadow.watched else 'each file is looked at'}, by git; {took}"
            case Plain():
                return f"copied, since there is no git; {took}"
        return f"not covered; {took}"

    def _covering(self) -> Cover:
        with self._lock:
            if self._closed:
                raise NotCovered("the session was closed")
            if self._cover is None:
                self._cover = _cover_of(self.path)
            return self._cover

    def compare(self, before: Mark, after: Mark) -> Iterator[Found]:
        return self._covering().compare(before, after)

    def reconcile(self, since: int, until: int) -> list[Found]:
        """On any thread; see `Cover.reconcile`."""
        return [] if self._cover is None or self._closed else self._cover.reconcile(since, until)

    def kill(self) -> None:
        self._closed = True
        if self._cover is not None:
            self._cover.kill()

    def close(self) -> None:
        self.kill()
        with self._lock:
            if self._cover is not None:
                self._cover.close()


def _taken(task: asyncio.Task[Mark]) -> None:
    if not task.cancelled():
        task.exception()  # or asyncio complains where nobody waits for it


def _cover_of(path: str) -> Cover:
    sweep()  # before the first mark: what we left is nobody's change
    home = os.path.realpath(os.path.expanduser("~"))
    if path == "/" or home == path or home.startswith(path.rstrip("/") + "/"):
        raise NotCovered("it is a home folder, or above one: work in a folder of its own")
    return Shadow(path) if program() is not None else Plain(path)


class Checkpoints:
    """Of one session."""

    def __init__(self, folders: Sequence[str]) -> None:
        outer = [it for it in folders if not any(_below(it, other) for other in folders if other != it)]
        self._folders = [Folder(path) for path in dict.fromkeys(outer)]

    @property
    def states(self) -> dict[str, str]:
        """Of each folder."""
        return {folder.path: folder.state for folder in self._folders}

    @property
    def covers(self) -> bool:
        """Whether there is anything to be looked at."""
        return bool(self._folders)

    def warm(self) -> None:
        """The first look, which may take long: begun early, and waited for by nobody."""
        for folder in self._folders:
            folder.mark()

    def late(self) -> Marks:
        """What a turn has that cannot wait for a mark."""
        return Marks(missing={folder.path: LATE for folder in self._folders})

    async def before(self, waited: float = 0.0) -> Marks:
        """The folders now, as far as that can be had in START_S; some of it may be gone already."""
        marks = Marks()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(START_S - waited, 0.0)):
                await asyncio.gather(*(self._before(folder, marks) for folder in self._folders))
        for folder in self._folders:
            if folder not in marks.marks:
                marks.missing.setdefault(folder.path, LATE)
        return marks

    async def _before(self, folder: Folder, marks: Marks) -> None:
        try:
            if folder.busy:  # it began before the prompt came, perhaps long before
                with contextlib.suppress(NotCovered):
                    await asyncio.shield(folder.mark())
            marks.marks[folder] = await asyncio.shield(folder.mark())
        except NotCovered as error:
            marks.missing[folder.path] = str(error)

    async def after(self, marks: Marks, keep: Callable[[Found], None]) -> frozenset[str]:
        """Hand out all that differs from then, on a thread; what cannot be compared is noted as missing.

        Returns the folders that are empty now.
        """
        empty: set[str] = set()
        for folder, before in marks.marks.items():
            try:
                async with asyncio.timeout(END_S):
                    if folder.busy:
                        with contextlib.suppress(NotCovered):
                            await asyncio.shield(folder.mark())
                    after = await asyncio.shield(folder.mark())
                marks.ends[folder] = after.at
                empty |= after.empty
                await on_a_thread(partial(_hand_out, folder, before, after, keep))
            except NotCovered as error:
                marks.missing[folder.path] = str(error)
            except TimeoutError:
                marks.missing[folder.path] = LATE
        return frozenset(empty)

    async def reconcile(self, marks: Marks) -> list[Found]:
        """When nobody waits: get ready for the next mark. Returns what the marks of the turn overlooked."""
        found: list[Found] = []
        for folder in self._folders:
            if folder.busy:
                with contextlib.suppress(NotCovered):
                    await asyncio.shield(folder.mark())
            times = (marks.marks[folder].at, marks.ends[folder]) if folder in marks.ends else (0, 0)
            found += await on_a_thread(partial(folder.reconcile, *times), "acp-reconcile")
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(note for folder in self._folders for note in folder.notes)

    def kill(self) -> None:
        for folder in self._folders:
            folder.kill()

    async def close(self) -> None:
        """What is under way is ended; on a thread, since files are put in order."""
        self.kill()
        for folder in self._folders:
            await on_a_thread(folder.close)


def _hand_out(folder: Folder, before: Mark, after: Mark, keep: Callable[[Found], None]) -> None:
    for found in folder.compare(before, after):
        keep(found)


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
