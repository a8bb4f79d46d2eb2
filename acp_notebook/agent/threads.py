"""Runs blocking work on a thread and awaits it on the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from ..log import logger, suppressed

_log = logger(__name__)

T = TypeVar("T")


class WorkEnded(Exception):
    """The work raised what would end a loop or a generator, such as SystemExit. Its text is that type."""


async def on_a_thread(work: Callable[[], T], name: str = "acp-work") -> T:
    """Like asyncio.to_thread, but on a daemon thread: one that hangs must not block interpreter exit.

    Raises WorkEnded for what no task can raise.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def finish(result: T | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except Exception as error:
            failure = WorkEnded(type(error).__name__) if isinstance(error, StopIteration) else error
        except BaseException as error:
            failure = WorkEnded(type(error).__name__)
        with suppressed(_log, RuntimeError):  # the loop has ended, and nobody waits for the result
            loop.call_soon_threadsafe(finish, result, failure)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future
