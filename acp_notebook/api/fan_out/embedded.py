"""Runs in this kernel: a thread each, because agents are processes of their own and threads only wait."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future

from ...agent.copies.copy import Copy, Snapshot
from ...core.fan_out.task import Result, Task
from ...log import logger, suppressed
from .board import Board
from .scoring import Scorer
from .stop import Stop
from .work import Watch, carry_out

_log = logger(__name__)

MOST_UNREMOVED = 4
"""Copies that wait for their removal. Then runs remove their own: a disk must not fill up with copies."""


class Remover:
    """Removes copies on a thread of its own, so that the next run does not wait for the disk."""

    def __init__(self) -> None:
        self._waiting: deque[Copy] = deque()
        self._changed = threading.Condition()
        self._working = False

    def remove(self, copy: Copy) -> None:
        with self._changed:
            if is_later := len(self._waiting) < MOST_UNREMOVED:
                self._waiting.append(copy)
                if not self._working:
                    self._working = True
                    threading.Thread(target=self._work, name="acp-remove", daemon=True).start()
        if not is_later:
            copy.remove()

    def wait(self) -> None:
        """Wait until all are removed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._working)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._working = False
                    self._changed.notify_all()
                    return
                copy = self._waiting.popleft()
            with suppressed(_log, OSError):  # the next fan-out removes what is left
                copy.remove()


class EmbeddedEngine:
    """Carries out runs on daemon threads of this process."""

    def __init__(self, board: Board, snapshot: Snapshot, function: Scorer | None = None) -> None:
        self._board = board
        self._snapshot = snapshot
        self._function = function
        self._remover = Remover()

    def prepare(self) -> None:
        """Nothing: the first run finds out what is missing here."""

    def submit(self, index: int, task: Task, stop: Stop) -> Future[Result]:
        board = self._board
        watch = Watch(
            state=lambda state: board.advance(index, state),
            session=lambda session, doing: board.show_work(index, session, doing),
        )
        done: Future[Result] = Future()

        def run() -> None:
            try:
                done.set_result(carry_out(task, stop, watch, self._function, remove=self._remover.remove))
            except BaseException as error:  # nobody else hears of it: the interpreter may be exiting
                done.set_exception(error)

        threading.Thread(target=run, name=f"acp-run-{index}", daemon=True).start()
        return done

    def close(self) -> None:
        self._remover.wait()
        self._snapshot.close()
