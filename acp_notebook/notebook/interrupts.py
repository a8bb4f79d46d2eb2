"""Ctrl-C and the stop button, kept from striking where they would break something.

Knows nothing of kernels. Python raises KeyboardInterrupt between any two instructions of the main thread, so
also between receiving a message and handing it on, which would lose it, and between taking a lock and the
block that releases it, which would stop every other thread that wants that lock.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

FRAGILE = frozenset({"threading", "concurrent.futures._base", "ipykernel.iostream"})
"""Modules that an exception at the wrong instruction leaves broken: a lock stays taken, a callback uncalled,
and the kernel's thread for output, which wants that lock, never publishes again."""

STEP_S = 0.01
"""An interrupt that meets such code strikes again so much later."""

BLOCKED_S = 0.1
"""At one instruction for so long: it waits there for something, as `Event.wait` does, and may be struck."""

LONGEST_S = 1.0
"""No interrupt is put off for longer: code that is struck in such a module each time still ends."""


class Gate:
    """While it is entered, an interrupt is noted instead of raised; `check` raises it where that is safe.

    One that was never raised goes to whoever dealt with interrupts before. On another thread than the main
    one it does nothing: no interrupt strikes there.
    """

    def __init__(self) -> None:
        self._noted = False
        self._open = False
        self._delay = _Delay()
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
        """Run code that is not ours: an interrupt strikes it, ends it, and stays noted.

        Within fragile code it is put off, until that is left.
        """
        try:
            self._open = True
            try:
                function()
            finally:
                self._open = False
        except KeyboardInterrupt:  # here the gate is closed in any case: nothing strikes any more
            self._noted = True
        if self._delay.end():
            self._noted = True

    def _strike(self, _number: int, frame: FrameType | None) -> None:
        if frame is not None:  # else a gate within this one hands on what it has noted
            _again.arrived()
        if not self._open:
            self._noted = True
        elif not self._delay.extended(frame):
            self._open = False  # once: what `run` does next must not be struck
            raise KeyboardInterrupt


class _Delay:
    """Of one interrupt, which has met fragile code; it strikes again and again until it may be raised."""

    def __init__(self) -> None:
        self._struck = False
        self._begin: float | None = None
        self._here: tuple[FrameType, int] | None = None
        self._here_since = 0.0

    def extended(self, frame: FrameType | None) -> bool:
        """Whether the interrupt has to wait, or to wait on; then it will strike again."""
        if frame is not None and _is_fragile(frame) and not self._is_over(frame):
            self._struck = True
            if _again.strike_later():
                return True
        self._begin = self._here = None
        return False

    def end(self) -> bool:
        """The code has ended: nothing strikes any more. Whether an interrupt was still waiting."""
        struck, self._struck, self._begin, self._here = self._struck, False, None, None
        return struck and _again.call_off()

    def _is_over(self, frame: FrameType) -> bool:
        now, here = time.monotonic(), (frame, frame.f_lasti)
        if self._begin is None:
            self._begin = now
        if here != self._here:  # the frame is kept, so an equal one is the same call, not another of its kind
            self._here, self._here_since = here, now
        return now - self._here_since >= BLOCKED_S or now - self._begin >= LONGEST_S


class _Again:
    """Sends the main thread one more SIGINT, from a thread that uses nothing that the main one may hold."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._wanted = False
        self._sent = False

    def strike_later(self) -> bool:
        """In a moment; False if no thread can be had."""
        self._wanted = True
        try:
            _thread.start_new_thread(self._strike, (_thread.get_ident(),))
        except RuntimeError:  # too many threads, or the interpreter ends
            self._wanted = False
        return self._wanted

    def _strike(self, main: int) -> None:
        time.sleep(STEP_S)
        with self._lock:
            if self._wanted:
                self._wanted, self._sent = False, True
                signal.pthread_kill(main, signal.SIGINT)

    def arrived(self) -> None:
        self._sent = False

    def call_off(self) -> bool:
        """From now on none comes: one that was sent is waited for, and noted by the gate that it meets.

        Whether one was still to be sent."""
        with self._lock:
            wanted, self._wanted = self._wanted, False
        deadline = time.monotonic() + LONGEST_S  # another's handler may have met it
        while self._sent and time.monotonic() < deadline:
            time.sleep(0)
        self._sent = False
        return wanted


_again = _Again()


def _is_fragile(frame: FrameType) -> bool:
    """Whether the frame, or one that called it since the gate, is in code that must not be struck."""
    here: FrameType | None = frame
    while here is not None and here.f_code is not Gate.run.__code__:
        if here.f_globals.get("__name__") in FRAGILE:
            return True
        here = here.f_back
    return False
