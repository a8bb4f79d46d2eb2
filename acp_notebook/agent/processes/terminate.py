"""End process trees, any number at once: SIGTERM, a pause, SIGKILL, until no process is left.

`guardian.Tree` finds the processes. Reading the process table takes milliseconds, more on a big machine, so
one reading serves all trees that are being ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
import time
from collections.abc import Iterator

from msgspec import Struct

from .guardian import Table, Tree, snapshot

QUIET_LOOKS = 2
"""How many times in a row no process must be found. The table is read row by row: a process that forks and
exits at that moment may be missing together with its child, and daemons do exactly that when they start."""


class _End(Struct):
    """The state of one tree that is being ended."""

    began: float
    over: asyncio.Future[bool]
    terminated: bool = False
    """Whether SIGTERM was sent."""
    quiet: int = 0
    """How many looks in a row found no process."""


class Terminator:
    """Ends process trees on this loop, with shared readings of the process table."""

    def __init__(self, term_grace_s: float, kill_s: float) -> None:
        self._term_grace_s = term_grace_s
        self._kill_s = kill_s
        self._ends: dict[Tree, _End] = {}
        self._task: asyncio.Task[None] | None = None
        self._new = asyncio.Event()
        self._pauses = pauses()

    async def end(self, tree: Tree) -> bool:
        """End the tree; return False if SIGKILL did not end it, or if this was interrupted.

        Calls for one tree share one ending, and a cancelled call does not stop it.
        """
        loop = asyncio.get_running_loop()
        if tree not in self._ends:
            self._ends[tree] = _End(time.monotonic(), loop.create_future())
            self._pauses = pauses()
            self._new.set()
        over = self._ends[tree].over
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        return await asyncio.shield(over)

    async def _run(self) -> None:
        try:
            while self._ends:
                self._new.clear()
                self._look()
                if self._ends:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(next(self._pauses)):
                            await self._new.wait()
        finally:
            for tree in tuple(self._ends):
                self._settle(tree, False)

    def _look(self) -> None:
        try:
            table = snapshot()
        except OSError:  # no file descriptor left: try again at the next look
            table = None
        now = time.monotonic()
        for tree, end in tuple(self._ends.items()):
            age = now - end.began
            left = 1 if table is None else self._step(tree, end, age, table)
            end.quiet = 0 if left else end.quiet + 1
            if end.quiet == QUIET_LOOKS:
                self._settle(tree, True)
            elif left and age >= self._term_grace_s + self._kill_s:
                self._settle(tree, False)

    def _step(self, tree: Tree, end: _End, age: float, table: Table) -> int:
        """Signal the tree according to its age; return how many processes there were."""
        if not end.terminated:
            end.terminated = True
            return tree.signal(signal.SIGTERM, table)
        if age < self._term_grace_s:
            return len(tree.look(table))
        return tree.signal(signal.SIGKILL, table)

    def _settle(self, tree: Tree, gone: bool) -> None:
        end = self._ends.pop(tree)
        if not end.over.done():
            end.over.set_result(gone)


def pauses() -> Iterator[float]:
    """The pauses between looks: most trees end at once, some take longer."""
    return itertools.chain((0.01, 0.02, 0.05), itertools.repeat(0.1))
