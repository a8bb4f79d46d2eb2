"""The background thread with the event loop that runs everything asynchronous.

Objects that must be closed before the interpreter exits register with `at_exit`.
"""

from __future__ import annotations

import asyncio
import atexit
import math
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from .. import timeouts
from ..errors import UsageError
from ..log import logger, suppressed

_log = logger(__name__)

T = TypeVar("T")

THREAD_NAME = "acp-io"

OVER = "Python is exiting, and its agents were ended"
FORKED = "this belongs to the process that opened it; in a forked copy, acp.connect(...) opens another"

_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_lock = threading.Lock()
_over = False
_closers: dict[object, Callable[[], Coroutine[Any, Any, None]]] = {}
_last_resorts: dict[object, Callable[[], None]] = {}


def get() -> asyncio.AbstractEventLoop:
    """Return the loop; start its thread on first use."""
    global _loop, _thread
    with _lock:
        if _over:
            raise UsageError(OVER)
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _loop.slow_callback_duration = math.inf  # with -X dev: starting a process is slow
            _thread = threading.Thread(target=_run, args=(_loop,), name=THREAD_NAME, daemon=True)
            _thread.start()
        return _loop


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run the coroutine on the loop thread. Safe from any thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, get())


def call(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine on the loop thread and wait for its result. An interrupt cancels it."""
    try:
        check_waiting()
        future = submit(coroutine)
    except BaseException:
        coroutine.close()
        raise
    try:
        result: T = wait_for(future)
        return result
    except BaseException:
        future.cancel()
        raise


def _plain_wait(future: Future[T]) -> T:
    return future.result()


wait_for: Callable[[Future[Any]], Any] = _plain_wait
"""How a thread waits for the loop. In a kernel, replaced by a function that handles clicks while it waits."""


def check_waiting() -> None:
    """Raise UsageError on the loop thread, which cannot wait for itself."""
    if threading.current_thread() is _thread:
        raise UsageError("this call would wait for its own thread; use it from another one")


class LoopHandle:
    """Gives other threads access to the loop of an object.

    It fails in a forked process and after the interpreter has ended the agents.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    @property
    def reachable(self) -> bool:
        return self._loop is _loop

    def check(self) -> None:
        if not self.reachable:
            raise UsageError(OVER if _over else FORKED)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine on the loop and wait for its result."""
        if not self.reachable:
            coroutine.close()
        self.check()
        return call(coroutine)

    def post(self, function: Callable[..., object], *args: object) -> None:
        """Schedule a call of the function on the loop."""
        self.check()
        self._loop.call_soon_threadsafe(function, *args)


def at_exit(
    owner: object, close: Callable[[], Coroutine[Any, Any, None]], last_resort: Callable[[], None]
) -> None:
    """At interpreter exit, run `close` on the loop, then call `last_resort`."""
    _closers[owner] = close
    _last_resorts[owner] = last_resort


def owners() -> list[object]:
    """The registered objects that must be closed at exit. Safe from any thread."""
    return list(_closers)


def forget(owner: object) -> None:
    """Unregister an object that is already closed."""
    _closers.pop(owner, None)
    _last_resorts.pop(owner, None)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        _finish(loop)
        loop.close()


def _finish(loop: asyncio.AbstractEventLoop) -> None:
    """Finish pending tasks and generators, or asyncio would warn about them at exit."""
    for task in (tasks := asyncio.all_tasks(loop)):
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    # The loop itself closes generators that were dropped, each in a task. They are not cancelled: each would
    # be left as it is.
    while closing := asyncio.all_tasks(loop):
        loop.run_until_complete(asyncio.gather(*closing, return_exceptions=True))


async def _close_all() -> None:
    await asyncio.gather(*(close() for close in list(_closers.values())), return_exceptions=True)


def _shutdown() -> None:
    global _loop, _over
    if _loop is None or _thread is None or not _thread.is_alive():
        return
    with suppressed(_log, BaseException):  # too slow, or a second Ctrl-C: the last resort follows
        submit(_close_all()).result(timeouts.get().interpreter_exit)
    for last_resort in list(_last_resorts.values()):
        last_resort()
    ending, _loop, _over = _loop, None, True
    ending.call_soon_threadsafe(ending.stop)
    _thread.join(1.0)


def _forget_all() -> None:
    """Reset the state in a forked process: it has no loop thread, and the agents belong to the parent."""
    global _loop, _thread, _lock
    _loop = _thread = None
    _lock = threading.Lock()
    _closers.clear()
    _last_resorts.clear()


atexit.register(_shutdown)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
