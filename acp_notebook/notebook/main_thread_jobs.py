"""A queue of jobs that must run on the main thread, such as asking with `input()`.

Our waits on the main thread run the jobs, because those are part of a cell: outside of a cell, `input()`
reaches nobody. Jobs that may run outside of a cell are also scheduled on the kernel's loop.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from .interrupts import Gate

_RINGS = 4096
"""Read at once; more than our pipe ever holds."""


class MainThreadJob(Struct, frozen=True, eq=False):
    """A function to run on the main thread, and the future of its result."""

    function: Callable[[], Any]
    done: Future[Any] = field(default_factory=Future)

    def run(self, gate: Gate) -> None:
        """Run the function and set the future. An interrupt ends only the function and cancels the future."""
        results: list[Any] = []
        with suppress(InvalidStateError):  # the caller cancelled it during the run: nobody needs the result
            try:
                gate.run(lambda: results.append(self.function()))
            except Exception as error:
                self.done.set_exception(error)
            except BaseException:  # concerns the main thread, not the thread that waits for the result
                self.done.cancel()
                raise
            else:
                self.done.set_result(*results) if results else self.done.cancel()


_jobs: deque[MainThreadJob] = deque()
_lock = threading.Lock()
"""Searching a deque fails while another thread appends to it."""

_bell: tuple[int, int] | None = None
"""A pipe that is readable while there may be a job."""


def bell() -> int:
    """A file descriptor that becomes readable when a job is queued, for a wait that runs them; `run_all`
    silences it. Main thread only."""
    global _bell
    if _bell is None:
        _bell = os.pipe()
        for end in _bell:
            os.set_blocking(end, False)
        if _jobs:
            _ring()
    return _bell[0]


def _ring() -> None:
    if _bell is not None:
        with suppress(BlockingIOError):  # full: nobody has listened for long, and it rings anyway
            os.write(_bell[1], b"!")


def _silence() -> None:
    if _bell is not None:
        with suppress(BlockingIOError):
            os.read(_bell[0], _RINGS)


def add(function: Callable[[], Any]) -> MainThreadJob:
    """Queue a function, from any thread. An interrupt that ends it cancels its future."""
    job = MainThreadJob(function)
    with _lock:
        _jobs.append(job)
    _ring()
    return job


def run_all() -> None:
    """Run all queued jobs, if this is the main thread. An interrupt ends the current job and then goes to the
    previous signal handler."""
    if threading.current_thread() is not threading.main_thread():
        return
    _silence()  # before the jobs are read: one that is added from now on rings again
    while _jobs:
        _run(_jobs.popleft())


def run(job: MainThreadJob) -> None:
    """Run this job now, on the main thread, unless a wait has already run it."""
    try:
        with _lock:
            _jobs.remove(job)
    except ValueError:
        return
    _run(job)


def _run(job: MainThreadJob) -> None:
    with Gate() as gate:
        if not job.done.cancelled():
            job.run(gate)
