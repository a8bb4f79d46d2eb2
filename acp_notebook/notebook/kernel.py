"""Wait in a notebook while clicks are still handled and the stop button works.

Independent of agents: callers wait for a future and decide what an interrupt means.
Also works without Jupyter, as a plain wait.
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

from .. import timeouts
from ..log import logger, suppressed
from . import main_thread_jobs
from .busy_sign import BusySign
from .interrupts import Gate
from .ipykernel_compat import (
    ProbeFailed,
    Shell,
    handle_without_events,
    keep_subshell,
    main_loop,
    probe,
    running_kernel,
)
from .pump import Pump
from .runtime import Runtime, client_here, set_headless, where

_log = logger(__name__)

__all__ = [
    "Runtime",
    "attend",
    "client_here",
    "handle_without_events",
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
"""If the signal went to another thread, the main thread notices an interrupt when it next wakes up."""

FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.05
"""The time between checks of the future: short at first, for immediate results, then longer to save CPU."""

_pumps: dict[str | None, Pump] = {}
"""One pump per shell, by subshell id."""


def wait(
    future: Future[T],
    timeout: float | None = None,
    *,
    on_interrupt: Callable[[], None] | None = None,
    grace: float | None = None,
) -> T:
    """Block until the future is done and return its result; raises TimeoutError after `timeout` seconds.

    On the kernel's main thread, clicks are handled during the wait. An interrupt calls `on_interrupt`, waits
    up to `grace` seconds more and raises KeyboardInterrupt whether or not the future is done; a second
    interrupt raises at once.
    """
    interrupted = _Once(on_interrupt)
    try:
        with _pausing(future) as pause:
            try:
                _until_done(future, timeout, pause)
            except KeyboardInterrupt:
                interrupted()
                with suppress(TimeoutError):
                    _until_done(future, _grace(grace), pause)
                raise
            return future.result()
    except KeyboardInterrupt:
        interrupted()  # in case the interrupt came before or after the wait itself
        raise


async def wait_async(
    future: Future[T], *, on_interrupt: Callable[[], None] | None = None, grace: float | None = None
) -> T:
    """Like `wait`, for code that awaits. Interrupting an awaiting cell cancels it: as with any cancellation,
    this calls `on_interrupt`, waits up to `grace` seconds more and raises CancelledError; a second one
    raises at once.
    """
    with _holding():
        end = _end_of(future)
        try:
            await _until(end, None)
        except asyncio.CancelledError:
            # Never KeyboardInterrupt: raised from a user's task, it would end the kernel's loop.
            if on_interrupt is not None:
                on_interrupt()
            await _until(end, _grace(grace))
            raise
    return future.result()


def _grace(given: float | None) -> float:
    return timeouts.get().interrupt_grace if given is None else given


def attend(future: Future[Any]) -> None:
    """Return at once, and handle clicks until the future is done, also while the user's own cells await.

    Call it when something starts that may ask the user. Up to ipykernel 7.3, a click that arrives while a
    cell awaits something else is queued behind that cell, where a later wait in the same cell cannot reach
    it.
    """
    shell = _shell_here()
    if shell is None:
        return
    pump = _pump_of(shell)
    with Gate():  # no interrupt between holding the pump and arranging its release
        if future.done():
            return
        pump.hold()
        future.add_done_callback(lambda _: shell.stream.io_loop.add_callback(pump.release))


def run_on_main(function: Callable[[], T]) -> Future[T]:
    """Schedule the function on the main thread; the current or next wait there runs it.

    An interrupt that ends the function cancels the future. Cancelling the future first prevents the run.
    """
    return main_thread_jobs.add(function).done


def run_when_free(function: Callable[[], T]) -> Future[T] | None:
    """Schedule the function on the main thread for when no user code runs there: between cells, or in a wait.

    Returns None if that is impossible: there is no kernel, or it is not supported.
    """
    kernel = running_kernel()
    try:
        loop = None if kernel is None else main_loop(kernel)
    except ProbeFailed:
        loop = None
    if loop is None:
        return None
    job = main_thread_jobs.add(function)
    loop.add_callback(main_thread_jobs.run, job)
    return job.done


def pump_status() -> str:
    """Describe the pump for the environment report: "works", or why it cannot and what happens instead."""
    shell = _shell()
    if isinstance(shell, Shell):
        return "works"
    if shell is None:
        return "not needed: no Jupyter kernel in this process"
    return f"cannot be used: {shell}. Clicks are handled after the cell has ended, or in a subshell"


class _Once:
    """Calls an optional function at most once."""

    def __init__(self, function: Callable[[], None] | None) -> None:
        self._function = function

    def __call__(self) -> None:
        function, self._function = self._function, None
        if function is not None:
            function()


# ---- how the calling thread waits


@contextmanager
def _pausing(future: Future[Any]) -> Iterator[Pause]:
    """Provide the function with which the calling thread waits for the future for some seconds."""
    shell, gate = _shell_here(), Gate()
    if shell is None:

        def pause(seconds: float) -> None:
            futures.wait((future,), seconds)
            main_thread_jobs.run_all()
            gate.check()

        # A script that ignores Ctrl-C keeps ignoring it. A kernel ignores it between cells only.
        with nullcontext() if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else gate:
            yield pause
        return
    pump = _pump_of(shell)
    is_main = shell.subshell is None  # a subshell's thread runs no jobs, and does not make the kernel busy
    bell = main_thread_jobs.bell() if is_main else None
    sign = BusySign(shell.kernel)

    def pump_once(seconds: float) -> None:
        if is_main and seconds >= LONGEST_PAUSE_S:  # short waits, of which there are many, need none
            sign.show()
        pump.turn(seconds, bell)
        main_thread_jobs.run_all()
        gate.check()

    with gate, pump.held():  # in this order: the gate protects installing and removing the pump
        try:
            yield pump_once
        finally:
            sign.hide()


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
    """Wait with a heartbeat and without passing on a cancellation. Returns after the timeout, too."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while not end.done():
        left = HEARTBEAT_S if deadline is None else deadline - time.monotonic()
        if left <= 0:
            return
        await asyncio.wait({end}, timeout=min(HEARTBEAT_S, left))
        main_thread_jobs.run_all()


def _end_of(future: Future[Any]) -> asyncio.Future[None]:
    """A future of this loop that completes with the given one; asyncio.wrap_future would also cancel it."""
    loop = asyncio.get_running_loop()
    end = loop.create_future()

    def on_done(_: Future[Any]) -> None:
        with suppressed(_log, RuntimeError):  # the loop has been closed: nothing waits there any more
            loop.call_soon_threadsafe(end.set_result, None)

    future.add_done_callback(on_done)
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
