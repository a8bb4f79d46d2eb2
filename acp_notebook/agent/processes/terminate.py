"""Ends process trees, any number at once: SIGTERM, a grace, SIGKILL, until nothing of them is left.

Knows nothing of what they are, nor of how relatives are found (`guardian.Tree`). A look at the process table
costs milliseconds, more on a big machine: one look serves all the trees that are being ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass

from .guardian import Table, Tree, snapshot

QUIET_LOOKS = 2
"""So often in a row nobody must be found. A table is read row by row: a process that forks and exits just
then may be missing from it together with its child; daemons do exactly that when they are started."""


@dataclass
class _End:
    began: float
    over: asyncio.Future[bool]
    told: bool = False
    quiet: int = 0


class Terminator:
    """The trees that are being ended on this loop."""

    def __init__(self, term_grace_s: float, kill_s: float) -> None:
        self._term_grace_s = term_grace_s
        self._kill_s = kill_s
        self._ends: dict[Tree, _End] = {}
        self._task: asyncio.Task[None] | None = None
        self._new = asyncio.Event()
        self._pauses = pauses()

    async def end(self, tree: Tree) -> bool:
        """True when nothing of it is left; False when SIGKILL did not end it, or we were cut short.

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
        except OSError:  # no file descriptor left: perhaps at the next look
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
        """Returns how many there were."""
        if not end.told:
            end.told = True
            return tree.signal(signal.SIGTERM, table)
        if age < self._term_grace_s:
            return len(tree.look(table))
        return tree.signal(signal.SIGKILL, table)

    def _settle(self, tree: Tree, gone: bool) -> None:
        end = self._ends.pop(tree)
        if not end.over.done():
            end.over.set_result(gone)


def pauses() -> Iterator[float]:
    """Between looks at what is left: most trees end at once, some need their time."""
    return itertools.chain((0.01, 0.02, 0.05), itertools.repeat(0.1))
