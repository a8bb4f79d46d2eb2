"""Waiting, as it is done in a notebook: clicks are handled meanwhile, and the stop button works.

Knows nothing of agents: what is waited for is a future, and what an interrupt means is the caller's.
Works without Jupyter, too; then a wait is a plain one.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, TypeVar

from . import main_thread
from .interrupts import Gate
from .ipykernel_compat import ProbeFailed, Shell, keep_subshell, main_loop, probe, running_kernel
from .pump import Pump
from .runtime import Runtime, set_headless, where

__all__ = [
    "Runtime",
    "attend",
    "keep_subshell",
    "pump_status",
    "run_on_main",
    "run_when_free",
    "set_headless",
    "wait",
    "wait_async",
    "where",
]

T = TypeVar("T")
Pause = Callable[[float], None]

HEARTBEAT_S = 0.1
"""An interrupt is noticed when the main thread next wakes, if the signal went to another thread."""

FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.05
"""Between looks at the future: short at first, for answers that come at once; later cheap, yet quick."""

GRACE_S = 5.0
"""How long an interrupted wait goes on, so that a cancelled turn can end in good order."""

_pumps: dict[str | None, Pump] = {}
"""One for each shell, by its subshell's id."""


def wait(
    future: Future[T],
    timeout: float | None = None,
    *,
    on_interrupt: Callable[[], None] | None = None,
    grace: float = GRACE_S,
) -> T:
    """Block until the future is done and give its result; raises TimeoutError after `timeout` seconds.

    On the kernel's main thread clicks are handled meanwhile. An interrupt calls `on_interrupt`, waits
    `grace` seconds more, and raises KeyboardInterrupt, with the future done or not; a second one at once.
    """
    interrupted = _Once(on_interrupt)
    try:
        with _pausing(future) as pause:
            try:
                _until_done(future, timeout, pause)
            except KeyboardInterrupt:
                interrupted()
                with suppress(TimeoutError):
                    _until_done(future, grace, pause)
                raise
            return future.result()
    except KeyboardInterrupt:
        interrupted()  # it came before there was a way to pause, or after
        raise


async def wait_async(
    future: Future[T], *, on_interrupt: Callable[[], None] | None = None, grace: float = GRACE_S
) -> T:
    """As `wait`, for code that awaits. The interrupt of an awaiting cell, like every cancellation, calls
    `on_interrupt`, waits `grace` seconds more, and goes on as CancelledError; a second one at once.
    """
    with _holding():
        end = _end_of(future)
        try:
            await _until(end, None)
        except asyncio.CancelledError:
            # Never a KeyboardInterrupt: out of a task of the user's it would end the kernel's loop.
            if on_interrupt is not None:
                on_interrupt()
            await _until(end, grace)
            raise
    return future.result()


def attend(future: Future[Any]) -> None:
    """Handle clicks until the future is done, also while the user's own cells await; returns at once.

    To be called where something starts that may ask. A click that comes while a cell awaits something else
    is queued behind that cell by ipykernel up to 7.3, out of reach of a later wait in the same cell.
    """
    shell = _shell_here()
    if shell is None:
        return
    pump = _pump_of(shell)
    with Gate():  # what is held is also released
        if future.done():
            return
        pump.hold()
        future.add_done_callback(lambda _: shell.stream.io_loop.add_callback(pump.release))


def run_on_main(function: Callable[[], T]) -> Future[T]:
    """Have it run on the main thread, by the next wait there or the one that is on.

    An interrupt that ends it cancels the future. Cancelling the future before it runs takes it back.
    """
    return main_thread.add(function).done


def run_when_free(function: Callable[[], T]) -> Future[T] | None:
    """Have it run on the main thread when no code of the user's runs there: between cells, or by a wait.

    None where that cannot be had: there is no kernel, or one that we do not know.
    """
    kernel = running_kernel()
    try:
        loop = None if kernel is None else main_loop(kernel)
    except ProbeFailed:
        loop = None
    if loop is None:
        return None
    job = main_thread.add(function)
    loop.add_callback(main_thread.run, job)
    return job.done


def pump_status() -> str:
    """Says "works", or why it cannot and what happens instead; for a report of the environment."""
    shell = _shell()
    if isinstance(shell, Shell):
        return "works"
    if shell is None:
        return "not needed: no Jupyter kernel in this process"
    return f"cannot be used: {shell}. A click is handled when the cell has ended, or in a subshell"


class _Once:
    """Calls a function, if there is one, the first time that it is called."""

    def __init__(self, function: Callable[[], None] | None) -> None:
        self._function = function

    def __call__(self) -> None:
        function, self._function = self._function, None
        if function is not None:
            function()


# ---- how the calling thread waits


@contextmanager
def _pausing(future: Future[Any]) -> Iterator[Pause]:
    """How the calling thread waits a moment for the future: a function of the seconds that it may take."""
    shell, gate = _shell_here(), Gate()
    if shell is None:

        def pause(seconds: float) -> None:
            futures.wait((future,), seconds)
            main_thread.run_all()
            gate.check()

        # A script that ignores Ctrl-C goes on doing so. A kernel does between cells, and can be stopped.
        with nullcontext() if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else gate:
            yield pause
        return
    pump = _pump_of(shell)

    def turn(seconds: float) -> None:
        pump.turn(seconds)
        main_thread.run_all()
        gate.check()

    with gate, pump.held():  # in this order: the pump is set and reset within the gate
        yield turn


def _until_done(future: Future[Any], timeout: float | None, pause: Pause) -> None:
    deadline = None if timeout is None else time.monotonic() + timeout
    seconds = FIRST_PAUSE_S
    while not future.done():
        left = seconds if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        pause(min(seconds, left))
        seconds = min(seconds * 2, LONGEST_PAUSE_S)


async def _until(end: asyncio.Future[None], timeout: float | None) -> None:
    """With a heartbeat, and without passing a cancellation on. Returns after the timeout, too."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while not end.done():
        left = HEARTBEAT_S if deadline is None else deadline - time.monotonic()
        if left <= 0:
            return
        await asyncio.wait({end}, timeout=min(HEARTBEAT_S, left))
        main_thread.run_all()


def _end_of(future: Future[Any]) -> asyncio.Future[None]:
    """Its end, on this loop; asyncio.wrap_future would pass a cancellation on to it."""
    loop = asyncio.get_running_loop()
    end = loop.create_future()

    def tell(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop has been closed: nobody waits there any more
            loop.call_soon_threadsafe(end.set_result, None)

    future.add_done_callback(tell)
    return end


# ---- the kernel's pumps


def _holding() -> AbstractContextManager[None]:
    shell = _shell_here()
    return _pump_of(shell).held() if shell is not None else nullcontext()


def _pump_of(shell: Shell) -> Pump:
    pump = _pumps.get(shell.subshell)
    if pump is None or pump.shell.stream is not shell.stream:
        pump = _pumps[shell.subshell] = Pump(shell)
    return pump


def _shell_here() -> Shell | None:
    """The shell that runs the calling code, if it can be pumped."""
    shell = _shell()
    return shell if isinstance(shell, Shell) and shell.is_here else None


def _shell() -> Shell | ProbeFailed | None:
    kernel = running_kernel()
    if kernel is None:
        return None
    try:
        return probe(kernel)
    except ProbeFailed as failure:
        return failure
