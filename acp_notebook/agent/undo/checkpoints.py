"""Checkpoints of the session's folders before and after a turn, and how long anyone waits for them.

A backend makes the checkpoints of one folder: `git_backend`, or `copy_backend` where there is no git.
Lives on the loop thread; the backends work on threads.
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
from typing import Any

from ..files.unfinished import remove_unfinished
from ..threads import on_a_thread
from .backend import Checkpoint, CheckpointBackend, CheckpointUnavailable, PathChange
from .copy_backend import CopyBackend
from .git import program
from .git_backend import GitBackend

START_S = 1.0
"""A turn's start waits no longer than this for its checkpoint. Else it runs without one, and says so."""

END_S = 60.0
"""The limit for the checkpoint after a turn. Nobody waits that long: see `ChangeTracker.turn_ends`."""

CLOSE_S = 5.0
"""The limit for closing: a network disk that does not answer must not hold up the session's end."""

LATE = "it was not ready in time"


@dataclass
class Marks:
    """The checkpoints before a turn. `missing`: folders without one, and why."""

    marks: dict[FolderCheckpoints, Checkpoint] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    turn: int = 0
    """The number of the turn in its session, from 1."""
    recorded_notes: tuple[str, ...] | None = None
    """In a replay: the notes of the recording, …"""
    filled: frozenset[str] = frozenset()
    """… and the folders that were empty before the turn only."""

    @property
    def empty(self) -> frozenset[str]:
        return self.filled.union(*(mark.empty for mark in self.marks.values()))


class FolderCheckpoints:
    """One folder of the session. A checkpoint that is being made is not started twice."""

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
        """How it is covered, and what the last checkpoint cost; from any thread."""
        if self._took is None:
            return "no checkpoint yet"
        how = "not covered" if self._backend is None else self._backend.description
        return f"{how}; the last checkpoint took {self._took:.2f} s"

    def mark(self) -> asyncio.Task[Checkpoint]:
        """The checkpoint that is being made, or a new one."""
        if not self.busy:
            self._task = asyncio.get_running_loop().create_task(on_a_thread(self._mark, "acp-checkpoint"))
            self._task.add_done_callback(retrieve)
        assert self._task is not None
        return self._task

    @property
    def busy(self) -> bool:
        return self._task is not None and not self._task.done()

    async def fresh_mark(self) -> Checkpoint:
        """A checkpoint that starts now: one that is being made may have started long ago."""
        if self.busy:
            with contextlib.suppress(CheckpointUnavailable):
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
    """Asyncio complains of exceptions that nobody retrieves."""
    if not task.cancelled():
        task.exception()


def backend_for(path: str) -> CheckpointBackend:
    """Raises CheckpointUnavailable."""
    remove_unfinished()  # before the first checkpoint, or our own leftovers would count as changes
    home = os.path.realpath(os.path.expanduser("~"))
    if path == "/" or home == path or home.startswith(path.rstrip("/") + "/"):
        raise CheckpointUnavailable("it is a home folder, or above one: work in a folder of its own")
    return GitBackend(path) if program() is not None else CopyBackend(path)


class Checkpoints:
    """Makes and compares the checkpoints of all folders of one session."""

    def __init__(self, folders: Sequence[str]) -> None:
        outer = [it for it in folders if not any(_below(it, other) for other in folders if other != it)]
        self._folders = [FolderCheckpoints(path) for path in dict.fromkeys(outer)]

    @property
    def states(self) -> dict[str, str]:
        return {folder.path: folder.state for folder in self._folders}

    @property
    def covers(self) -> bool:
        """Whether there is any folder to make checkpoints of."""
        return bool(self._folders)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(note for folder in self._folders for note in folder.notes)

    def warm(self) -> None:
        """Start the first checkpoint, which may take long; nobody waits for it."""
        for folder in self._folders:
            folder.mark()

    def late(self) -> Marks:
        """For a turn that cannot wait for its checkpoints."""
        return Marks(missing={folder.path: LATE for folder in self._folders})

    async def before(self, waited: float = 0.0) -> Marks:
        """The folders now, as far as they are ready within START_S, of which `waited` has passed."""
        marks = Marks()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(START_S - waited, 0.0)):
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
        """Pass every difference to `keep`, on a thread; a folder that cannot be compared is noted as missing.

        Returns the folders that are empty now.
        """
        empty: set[str] = set()
        for folder, before in marks.marks.items():
            try:
                async with asyncio.timeout(END_S):
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
        for folder in self._folders:
            folder.kill()

    async def close(self) -> None:
        """End what is running, and wait for it no longer than CLOSE_S."""
        self.kill()
        closing = [asyncio.ensure_future(on_a_thread(folder.close)) for folder in self._folders]
        if closing:
            await asyncio.wait(closing, timeout=CLOSE_S)


def _pass_on(
    folder: FolderCheckpoints, before: Checkpoint, after: Checkpoint, keep: Callable[[PathChange], None]
) -> None:
    for found in folder.compare(before, after):
        keep(found)


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
