"""Ctrl-C and the stop button, kept from striking while a message is in hand.

Knows nothing of kernels. Python raises KeyboardInterrupt between any two instructions of the main thread,
so also between receiving a message and handing it on, which would lose it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class Gate:
    """While it is entered, an interrupt is noted instead of raised; `check` raises it where that is safe.

    One that was never raised goes to whoever dealt with interrupts before. On another thread than the main
    one it does nothing: no interrupt strikes there.
    """

    def __init__(self) -> None:
        self._noted = False
        self._open = False
        self._before: Any = None

    def __enter__(self) -> Gate:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
        if self._before is not None:  # None: set by C code, and Python could not put it back
            signal.signal(signal.SIGINT, self._strike)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._noted and callable(self._before):
            self._before(signal.SIGINT, None)

    def check(self) -> None:
        """Raise KeyboardInterrupt if there was one."""
        if self._noted:
            self._noted = False
            raise KeyboardInterrupt

    def run(self, function: Callable[[], object]) -> None:
        """Run code that is not ours: an interrupt strikes it at once, ends it, and stays noted."""
        try:
            self._open = True
            try:
                function()
            finally:
                self._open = False
        except KeyboardInterrupt:  # here the gate is closed in any case: nothing strikes any more
            self._noted = True

    def _strike(self, _number: int, _frame: FrameType | None) -> None:
        if not self._open:
            self._noted = True
            return
        self._open = False  # once: what `run` does next must not be struck
        raise KeyboardInterrupt
