"""The one background thread with its event loop; everything asynchronous lives there.

Knows nothing of agents: those who have something to end before the interpreter does register it
with `at_exit`.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import math
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from ..errors import UsageError

T = TypeVar("T")

THREAD_NAME = "acp-io"

EXIT_S = 4.0
"""How long the interpreter's end may wait for agents to be ended: their own graces are shorter."""

OVER = "Python is exiting, and its agents were ended"
FORKED = "this belongs to the process that opened it; in a forked copy, acp.connect(...) opens another"

_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_lock = threading.Lock()
_over = False
_closers: dict[object, Callable[[], Coroutine[Any, Any, None]]] = {}
_last_resorts: dict[object, Callable[[], None]] = {}


def get() -> asyncio.AbstractEventLoop:
    """The loop; its thread is started when it is first needed."""
    global _loop, _thread
    with _lock:
        if _over:
            raise UsageError(OVER)
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _loop.slow_callback_duration = math.inf  # with -X dev: starting a process takes its time
            _thread = threading.Thread(target=_run, args=(_loop,), name=THREAD_NAME, daemon=True)
            _thread.start()
        return _loop


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run it on the loop thread; from any thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, get())


def call(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run it on the loop thread and wait for its result. An interrupt cancels it."""
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
"""How a thread waits here; where there is a kernel, one that handles clicks meanwhile takes its place."""


def check_waiting() -> None:
    """Raises UsageError on the loop thread, which cannot wait for itself."""
    if threading.current_thread() is _thread:
        raise UsageError("this call would wait for its own thread; use it from another one")


class LoopHandle:
    """The loop that something lives on, as others reach it: from any thread of its process, not from a
    forked copy of that, and not once the interpreter has ended the agents."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    @property
    def reachable(self) -> bool:
        return self._loop is _loop

    def check(self) -> None:
        if not self.reachable:
            raise UsageError(OVER if _over else FORKED)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run it there and wait for its result."""
        if not self.reachable:
            coroutine.close()
        self.check()
        return call(coroutine)

    def post(self, function: Callable[..., object], *args: object) -> None:
        """Call it there, soon."""
        self.check()
        self._loop.call_soon_threadsafe(function, *args)


def at_exit(
    owner: object, close: Callable[[], Coroutine[Any, Any, None]], last_resort: Callable[[], None]
) -> None:
    """Before the interpreter ends: `close` on the loop, and `last_resort` if that took too long."""
    _closers[owner] = close
    _last_resorts[owner] = last_resort


def owners() -> list[object]:
    """Those who run something that ends with the interpreter; from any thread."""
    return list(_closers)


def forget(owner: object) -> None:
    """It has ended by itself."""
    _closers.pop(owner, None)
    _last_resorts.pop(owner, None)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        # Pending tasks are cancelled and seen through, or asyncio would complain of them at exit.
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()


async def _close_all() -> None:
    await asyncio.gather(*(close() for close in list(_closers.values())), return_exceptions=True)


def _shutdown() -> None:
    global _loop, _over
    if _loop is None or _thread is None or not _thread.is_alive():
        return
    with contextlib.suppress(BaseException):  # too slow, or a second Ctrl-C: the last resort follows
        submit(_close_all()).result(EXIT_S)
    for last_resort in list(_last_resorts.values()):
        last_resort()
    ending, _loop, _over = _loop, None, True
    ending.call_soon_threadsafe(ending.stop)
    _thread.join(1.0)


def _forget_all() -> None:
    """In a forked copy: there is no loop thread here, and the agents are the parent's."""
    global _loop, _thread, _lock
    _loop = _thread = None
    _lock = threading.Lock()
    _closers.clear()
    _last_resorts.clear()


atexit.register(_shutdown)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
