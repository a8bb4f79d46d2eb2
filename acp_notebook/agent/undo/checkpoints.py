"""Makes checkpoints of a session's folders before and after each turn, within time limits.

A backend makes the checkpoints of one folder: `git_backend`, or `copy_backend` if git is not installed.
Runs on the loop thread; the backends run on work threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, field

from ... import timeouts
from ...core.changes import PathChange
from ...log import logger, suppressed
from ..files.unfinished import remove_unfinished
from ..threads import on_a_thread
from .backend import Checkpoint, CheckpointBackend, CheckpointUnavailable
from .copy_backend import CopyBackend
from .git import program
from .git_backend import GitBackend

_log = logger(__name__)

LATE = "it was not ready in time"


class Marks(Struct):
    """The checkpoints before a turn. `missing`: folders without one, each with the reason."""

    marks: dict[FolderCheckpoints, Checkpoint] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    turn: int = 0
    """The number of the turn in its session, starting at 1."""
    recorded_notes: tuple[str, ...] | None = None
    """In a replay: the recorded notes."""
    filled: frozenset[str] = frozenset()
    """In a replay: folders that were empty before the turn and not after it."""

    @property
    def empty(self) -> frozenset[str]:
        return self.filled.union(*(mark.empty for mark in self.marks.values()))


class FolderCheckpoints:
    """Makes the checkpoints of one folder, at most one at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._backend: CheckpointBackend | None = None
        self._task: asyncio.Task[Checkpoint] | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._took: float | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self._backend is None else self._backend.notes

    @property
    def state(self) -> str:
        """How the folder is covered, and how long the last checkpoint took. Safe from any thread."""
        if self._took is None:
            return "no checkpoint yet"
        how = "not covered" if self._backend is None else self._backend.description
        return f"{how}; the last checkpoint took {self._took:.2f} s"

    def mark(self) -> asyncio.Task[Checkpoint]:
        """The task of the checkpoint in progress, or of a new one."""
        if not self.busy:
            self._task = asyncio.get_running_loop().create_task(on_a_thread(self._mark, "acp-checkpoint"))
            self._task.add_done_callback(retrieve)
        assert self._task is not None
        return self._task

    @property
    def busy(self) -> bool:
        return self._task is not None and not self._task.done()

    async def fresh_mark(self) -> Checkpoint:
        """Make a checkpoint that starts now. One in progress may have started long ago."""
        if self.busy:
            with suppressed(_log, CheckpointUnavailable):
                await asyncio.shield(self.mark())
        return await asyncio.shield(self.mark())

    def _mark(self) -> Checkpoint:
        started = time.monotonic()
        try:
            return self._ready().mark()
        finally:
            self._took = time.monotonic() - started

    def _ready(self) -> CheckpointBackend:
        with self._lock:
            if self._closed:
                raise CheckpointUnavailable("the session was closed")
            if self._backend is None:
                self._backend = backend_for(self.path)
            return self._backend

    def compare(self, before: Checkpoint, after: Checkpoint) -> Iterator[PathChange]:
        return self._ready().compare(before, after)

    def kill(self) -> None:
        self._closed = True
        if self._backend is not None:
            self._backend.kill()

    def close(self) -> None:
        self.kill()
        with self._lock:
            if self._backend is not None:
                self._backend.close()


def retrieve(task: asyncio.Task[Any]) -> None:
    """Retrieve the task's exception, so that asyncio does not report it as unhandled."""
    if not task.cancelled():
        task.exception()


def backend_for(path: str) -> CheckpointBackend:
    """Choose the backend for a folder. Raises CheckpointUnavailable."""
    remove_unfinished()  # before the first checkpoint: our own leftovers must not count as changes
    home = os.path.realpath(os.path.expanduser("~"))
    if path == "/" or home == path or home.startswith(path.rstrip("/") + "/"):
        raise CheckpointUnavailable("it is your home folder or contains it: start the session in a subfolder")
    return GitBackend(path) if program() is not None else CopyBackend(path)


class Checkpoints:
    """Makes and compares the checkpoints of all folders of one session."""

    def __init__(self, folders: Sequence[str], *, on: bool = True, never: str | None = None) -> None:
        """`never`: why there can be no checkpoints at all."""
        outer = [it for it in folders if not any(_below(it, other) for other in folders if other != it)]
        self._all = [FolderCheckpoints(path) for path in dict.fromkeys(outer)]
        self._on = on and never is None
        self.can_switch = never is None
        self.why_not = never or "undo=False"

    @property
    def _folders(self) -> list[FolderCheckpoints]:
        return self._all if self._on else []

    def switch(self, on: bool) -> None:
        """Make checkpoints from now on, or not any more. Only between two turns."""
        self._on = on

    @property
    def states(self) -> dict[str, str]:
        return {folder.path: folder.state for folder in self._folders}

    @property
    def covers(self) -> bool:
        """Whether the session makes checkpoints of its folders."""
        return bool(self._folders)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(note for folder in self._folders for note in folder.notes)

    def warm(self) -> None:
        """Start the first checkpoint of each folder, which may take long, without waiting for it."""
        for folder in self._folders:
            folder.mark()

    def late(self) -> Marks:
        """Return marks for a turn that cannot wait for its checkpoints."""
        return Marks(missing={folder.path: LATE for folder in self._folders})

    async def before(self, waited: float = 0.0) -> Marks:
        """Make checkpoints within `checkpoint_start`, of which `waited` seconds have passed."""
        marks = Marks()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(timeouts.get().checkpoint_start - waited, 0.0)):
                await asyncio.gather(*(self._before(folder, marks) for folder in self._folders))
        for folder in self._folders:
            if folder not in marks.marks:
                marks.missing.setdefault(folder.path, LATE)
        return marks

    async def _before(self, folder: FolderCheckpoints, marks: Marks) -> None:
        try:
            marks.marks[folder] = await folder.fresh_mark()
        except CheckpointUnavailable as error:
            marks.missing[folder.path] = str(error)

    async def after(self, marks: Marks, keep: Callable[[PathChange], None]) -> frozenset[str]:
        """Pass every path that changed since `marks` to `keep`, on a work thread.

        Adds folders that cannot be compared to `marks.missing`. Returns the folders that are empty now.
        """
        empty: set[str] = set()
        for folder, before in marks.marks.items():
            try:
                async with asyncio.timeout(timeouts.get().checkpoint_end):
                    after = await folder.fresh_mark()
                empty |= after.empty
                if after != before:
                    await on_a_thread(partial(_pass_on, folder, before, after, keep))
            except CheckpointUnavailable as error:
                marks.missing[folder.path] = str(error)
            except TimeoutError:
                marks.missing[folder.path] = LATE
        return frozenset(empty)

    def kill(self) -> None:
        for folder in self._all:
            folder.kill()

    async def close(self) -> None:
        """Stop all work, and wait at most `checkpoint_close` for it."""
        self.kill()
        closing = [asyncio.ensure_future(on_a_thread(folder.close)) for folder in self._all]
        if closing:
            await asyncio.wait(closing, timeout=timeouts.get().checkpoint_close)


def _pass_on(
    folder: FolderCheckpoints, before: Checkpoint, after: Checkpoint, keep: Callable[[PathChange], None]
) -> None:
    for found in folder.compare(before, after):
        keep(found)


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
