"""Work that must be done on the main thread, such as asking with `input()`.

Knows nothing of what the work is. It is done by waits of ours on the main thread, which are part of a cell:
`input()` outside of one reaches nobody. What can be done outside of one is also offered to the kernel's loop.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .interrupts import Gate


@dataclass(frozen=True, eq=False)
class Job:
    function: Callable[[], Any]
    done: Future[Any] = field(default_factory=Future)

    def run(self, gate: Gate) -> None:
        """An interrupt ends the work alone: its result is handed on whole, or the future is cancelled."""
        results: list[Any] = []
        with suppress(InvalidStateError):  # the asker cancelled it meanwhile: nobody waits for the result
            try:
                gate.run(lambda: results.append(self.function()))
            except Exception as error:
                self.done.set_exception(error)
            except BaseException:  # is for the main thread, not for the one that awaits this
                self.done.cancel()
                raise
            else:
                self.done.set_result(*results) if results else self.done.cancel()


_jobs: deque[Job] = deque()
_changing = threading.Lock()
"""A deque that another thread adds to cannot be searched."""


def add(function: Callable[[], Any]) -> Job:
    """From any thread. Its future is cancelled when an interrupt ends the work."""
    job = Job(function)
    with _changing:
        _jobs.append(job)
    return job


def run_all() -> None:
    """Do what there is, if this is the main thread. An interrupt ends the job that it strikes, and then goes
    to whoever dealt with interrupts before."""
    if threading.current_thread() is not threading.main_thread():
        return
    while _jobs:
        _run(_jobs.popleft())


def run(job: Job) -> None:
    """Do that one, on the main thread, unless a wait has done it."""
    try:
        with _changing:
            _jobs.remove(job)
    except ValueError:
        return
    _run(job)


def _run(job: Job) -> None:
    with Gate() as gate:
        if not job.done.cancelled():
            job.run(gate)
