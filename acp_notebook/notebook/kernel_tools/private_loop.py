"""Runs a coroutine on a private loop, on a thread whose own loop is in the middle of a callback.

The coroutine cannot await anything that is bound to the kernel's loop; asyncio does not allow it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ... import timeouts
from ...log import logger, suppressed

_log = logger(__name__)

T = TypeVar("T")


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that awaits nothing, like IPython's for a cell without `await`."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("the code awaits something, and IPython did not say so")


def run_alone(coroutine: Coroutine[Any, Any, T]) -> tuple[T, int]:
    """Run a coroutine; return its result, and how many left-over tasks were cancelled."""
    with _no_running_loop():
        loop = asyncio.new_event_loop()
        try:
            result = _run(loop, loop.create_task(coroutine))
            return result, _end_tasks(loop)
        finally:
            with suppressed(_log, Exception):
                loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


def _run(loop: asyncio.AbstractEventLoop, task: asyncio.Task[T]) -> T:
    while True:
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt:
            if task.done():
                raise
            task.cancel()  # IPython turns the CancelledError into the result's error


def _end_tasks(loop: asyncio.AbstractEventLoop) -> int:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=timeouts.get().run_tasks))
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()  # else asyncio logs that the exception was never retrieved
    return len(tasks)


@contextmanager
def _no_running_loop() -> Iterator[None]:
    """Make this thread look as if it ran no loop and no task."""
    outer = asyncio._get_running_loop()
    task = asyncio.current_task(outer) if outer is not None else None
    if outer is not None and task is not None:
        asyncio.tasks._leave_task(outer, task)
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)
        if outer is not None and task is not None:
            asyncio.tasks._enter_task(outer, task)
