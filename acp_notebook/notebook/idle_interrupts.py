"""Lets the stop button reach what runs in the background while no cell runs.

Independent of agents: callers say what an interrupt stops. ipykernel ignores SIGINT between requests and sets
its own handler for each, so ours, which takes the place of "ignore" only, is never called for a user's cell.
All functions that touch signals run on the kernel's main thread.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from .. import timeouts
from ..log import logger
from .ipykernel_compat import ProbeFailed, main_loop, running_kernel

_log = logger(__name__)

LOOK_S = 0.25
"""How often the main thread checks its handler while something can be stopped: a cell may have run since, and
a signal that went to another thread is noticed when the main thread next wakes up."""

Stop = Callable[[], None]


class IdleInterrupts:
    """Calls functions when the kernel is interrupted between two requests."""

    def __init__(self, kernel: Any, loop: Any) -> None:
        self.kernel = kernel
        self._loop = loop
        self._stops: dict[object, Stop] = {}
        self._lock = threading.Lock()
        self._looking = False
        self._cell_ended = -math.inf
        self._events: Any = None

    def watch(self, stop: Stop) -> Stop:
        """Call `stop`, on the main thread, at an interrupt; return a function that ends this.

        Both may be called on any thread.
        """
        key = object()
        with self._lock:
            self._stops[key] = stop
            begins = not self._looking
            self._looking = True
        if begins:
            self._loop.add_callback(self._look)
        return lambda: self._forget(key)

    def _forget(self, key: object) -> None:
        with self._lock:
            self._stops.pop(key, None)

    # ---- on the main thread -------------------------------------------------------------------

    def _look(self) -> None:
        """Set or restore the handler if no request is being handled, and look again as long as needed."""
        current = signal.getsignal(signal.SIGINT)
        is_idle = current is signal.SIG_IGN or current == self._on_sigint
        with self._lock:
            wanted = bool(self._stops)
            self._looking = wanted or not is_idle
        if is_idle:
            signal.signal(signal.SIGINT, self._on_sigint if wanted else signal.SIG_IGN)
            self._listen_for_cells() if wanted else self._leave_cells()
        if self._looking:
            self._loop.call_later(LOOK_S, self._look)

    def _on_sigint(self, _number: int, _frame: FrameType | None) -> None:
        if time.monotonic() - self._cell_ended >= timeouts.get().cell_interrupt:
            self._loop.asyncio_loop.call_soon_threadsafe(self._stop_all)  # wakes the loop

    def _stop_all(self) -> None:
        with self._lock:
            stops = list(self._stops.values())
        for stop in stops:
            try:
                stop()
            except Exception:  # one that fails must not keep the others from stopping
                _log.warning("an interrupt could not stop something", exc_info=True)

    def _listen_for_cells(self) -> None:
        events = getattr(getattr(self.kernel, "shell", None), "events", None)
        if events is not None and self._events is None:
            events.register("post_execute", self._on_code_ended)
            self._events = events

    def _leave_cells(self) -> None:
        events, self._events = self._events, None
        if events is not None:
            with suppress(ValueError):  # the user's code has removed it
                events.unregister("post_execute", self._on_code_ended)

    def _on_code_ended(self) -> None:
        self._cell_ended = time.monotonic()


_current: IdleInterrupts | None = None


def watch(stop: Stop) -> Stop:
    """Call `stop` when the kernel of this process is interrupted while no cell runs; see `IdleInterrupts`.

    Does nothing without a kernel, or with one that is not supported.
    """
    global _current
    kernel = running_kernel()
    if kernel is None:
        return _nothing
    if _current is None or _current.kernel is not kernel:
        try:
            loop = main_loop(kernel)
        except ProbeFailed:
            _log.debug("the kernel's interrupt cannot be used between cells", exc_info=True)
            return _nothing
        _current = IdleInterrupts(kernel, loop)
    return _current.watch(stop)


def _nothing() -> None:
    pass
