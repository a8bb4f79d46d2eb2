"""Calls the user's handlers of extension methods on threads of their own, a limited number at once.

An `async` handler runs in an event loop of its own, so that it can block neither this client nor the kernel.
Knows neither methods nor messages.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from ..core.plain_json import plain_json
from ..core.records import Json
from ..errors import ExtensionError
from ..log import logger, suppressed
from .threads import on_a_thread

_log = logger(__name__)

Handler = Callable[[Json], Any]
"""A function of the parameters. Its result, or what its awaitable results in, answers a request."""

HANDLERS_AT_ONCE = 16
"""Further calls wait. A handler that hangs counts until it returns: threads cannot be ended."""


class Outcome(Struct, frozen=True):
    """What came of a call: a result, or the error that the handler raised."""

    result: Any = None
    error: BaseException | None = None


class HandlerThreads:
    """Runs the handlers of one agent."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(HANDLERS_AT_ONCE)

    async def call(self, handler: Handler, params: Json, what: str | None) -> Outcome:
        """Call the handler. `what` names its result, which must be JSON; None: the result does not matter.

        If the wait is cancelled, an `async` handler is cancelled; others run to their end.
        """
        await self._free.acquire()
        call = _Call(handler, params, what)
        running = asyncio.ensure_future(on_a_thread(call.run, "acp-handler"))
        running.add_done_callback(lambda _: self._free.release())
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            call.cancel()
            raise


class _Call:
    def __init__(self, handler: Handler, params: Json, what: str | None) -> None:
        self._handler = handler
        self._params = params
        self._what = what
        self._lock = threading.Lock()
        self._cancelled = False
        self._task: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def run(self) -> Outcome:
        try:
            said = self._handler(self._params)
            if inspect.isawaitable(said):
                said = asyncio.run(self._finish(said))
            return self._outcome(said)
        except BaseException as error:  # reported; also SystemExit, which would only end the thread
            return Outcome(error=error)

    def _outcome(self, said: Any) -> Outcome:
        if self._what is None:
            return Outcome()
        try:
            return Outcome(plain_json(said, self._what))
        except ValueError as unfit:
            return Outcome(error=ExtensionError(str(unfit)))

    async def _finish(self, said: Awaitable[Any]) -> Any:
        task = asyncio.current_task()
        assert task is not None
        with self._lock:
            self._task = asyncio.get_running_loop(), task
            if self._cancelled:
                task.cancel()
        return await said

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._task is not None:
                loop, task = self._task
                with suppressed(_log, RuntimeError):  # its loop has ended in the meantime
                    loop.call_soon_threadsafe(task.cancel)
