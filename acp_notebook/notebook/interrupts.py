"""Defer Ctrl-C and the stop button where a KeyboardInterrupt would break something.

Independent of kernels. Python raises KeyboardInterrupt between any two instructions of the main thread:
also between receiving a message and handing it on, which would lose the message, and between acquiring a lock
and entering the block that releases it, which would block every other thread that needs that lock.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

FRAGILE = frozenset(
    {
        "threading",
        "concurrent.futures._base",
        "ipykernel.iostream",
        "acp_notebook.notebook.kernel_tools.outputs",
    }
)
"""Modules that an exception at the wrong instruction leaves broken: a lock is never released, a callback
never called, and the kernel's output thread, which needs that lock, stops publishing."""

STEP_S = 0.01
"""How long to wait before sending an interrupt again that arrived in fragile code."""

BLOCKED_S = 0.1
"""Code that stays at one instruction for this long is waiting, like `Event.wait`, and may be interrupted."""

LONGEST_S = 1.0
"""The longest delay of an interrupt, so that code that keeps returning to a fragile module still ends."""


class Gate:
    """A context manager that records interrupts instead of raising them; `check` raises where that is safe.

    On exit, an interrupt that was not raised goes to the previous signal handler. On any thread but the main
    one the gate does nothing, because Python delivers no interrupts there.
    """

    def __init__(self) -> None:
        self._noted = False
        self._open = False
        self._delay = _Delay()
        self._before: Any = None

    def __enter__(self) -> Gate:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
        if self._before is not None:  # None: the handler was set by C code, and Python could not restore it
            signal.signal(signal.SIGINT, self._on_sigint)
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
        """Run foreign code. An interrupt ends it and stays recorded; `check` raises it later.

        An interrupt in fragile code is delayed until that code has returned.
        """
        try:
            self._open = True
            try:
                function()
            finally:
                self._open = False
        except KeyboardInterrupt:  # the gate is closed again by now: no further interrupt can be raised
            self._noted = True
        if self._delay.end():
            self._noted = True

    def _on_sigint(self, _number: int, frame: FrameType | None) -> None:
        if frame is not None:  # None: an inner gate hands on the interrupt that it recorded
            _resender.on_delivered()
        if not self._open:
            self._noted = True
        elif not self._delay.extend(frame):
            self._open = False  # raise only once: the rest of `run` must not be interrupted
            raise KeyboardInterrupt


class _Delay:
    """Delays an interrupt that arrived in fragile code: it is sent again until it may be raised."""

    def __init__(self) -> None:
        self._delayed = False
        self._begin: float | None = None
        self._here: tuple[FrameType, int] | None = None
        self._here_since = 0.0

    def extend(self, frame: FrameType | None) -> bool:
        """Send the interrupt again later if it must wait (longer); return whether it must."""
        if frame is not None and _is_fragile(frame) and not self._is_over(frame):
            self._delayed = True
            if _resender.send_later():
                return True
        self._begin = self._here = None
        return False

    def end(self) -> bool:
        """Stop, because the code has returned; return whether an interrupt was still waiting."""
        delayed, self._delayed, self._begin, self._here = self._delayed, False, None, None
        return delayed and _resender.cancel()

    def _is_over(self, frame: FrameType) -> bool:
        now, here = time.monotonic(), (frame, frame.f_lasti)
        if self._begin is None:
            self._begin = now
        if here != self._here:  # we hold the frame, so an equal one is the same call, not a later one
            self._here, self._here_since = here, now
        return now - self._here_since >= BLOCKED_S or now - self._begin >= LONGEST_S


class _Resender:
    """Sends SIGINT to the main thread again, from a thread that needs no lock that the main one may hold."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._wanted = False
        self._sent = False

    def send_later(self) -> bool:
        """Send after STEP_S; return False if no thread can be started."""
        self._wanted = True
        try:
            _thread.start_new_thread(self._send, (_thread.get_ident(),))
        except RuntimeError:  # too many threads, or the interpreter is shutting down
            self._wanted = False
        return self._wanted

    def _send(self, main: int) -> None:
        time.sleep(STEP_S)
        with self._lock:
            if self._wanted:
                self._wanted, self._sent = False, True
                signal.pthread_kill(main, signal.SIGINT)

    def on_delivered(self) -> None:
        self._sent = False

    def cancel(self) -> bool:
        """Send no more. Wait for a signal that was already sent; the current gate records it.

        Returns whether a signal was still to be sent."""
        with self._lock:
            wanted, self._wanted = self._wanted, False
        deadline = time.monotonic() + LONGEST_S  # a foreign handler may have received it instead
        while self._sent and time.monotonic() < deadline:
            time.sleep(0)
        self._sent = False
        return wanted


_resender = _Resender()


def _is_fragile(frame: FrameType) -> bool:
    """Whether the frame, or a caller of it inside `Gate.run`, is in code that must not be interrupted."""
    here: FrameType | None = frame
    while here is not None and here.f_code is not Gate.run.__code__:
        if here.f_globals.get("__name__") in FRAGILE:
            return True
        here = here.f_back
    return False
