"""Handles interrupts while an agent's code runs: ours stop only the code, the user's also end the turn.

Both arrive as SIGINT. Ours are noted before they are sent; any other is the user's.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from ..interrupts import LONGEST_S, Gate, _resender

RESEND_S = 0.2
"""How long an interrupt may take to reach Python code before it is sent again."""


class CodeGate(Gate):
    """A gate that can interrupt its code repeatedly: code may catch one interrupt and yield to the next."""

    def __init__(self, on_user_stop: Callable[[], None]) -> None:
        super().__init__()
        self.by_user = False
        """The user pressed stop."""
        self.struck = False
        """An interrupt reached the code, or came just before it."""
        self._on_user_stop = on_user_stop
        self._expected = False
        self._resent = -RESEND_S
        self._delayed = False
        self._sending = threading.Lock()
        self._is_live = self._is_over = False

    def __enter__(self) -> CodeGate:
        super().__enter__()
        with self._sending:
            self._is_live = True
        return self

    def interrupt(self) -> None:
        """Interrupt the code, from another thread. Does nothing once the code has ended."""
        with self._sending:
            if not self._is_live:
                self.struck = True  # the code will not start
            elif not self._is_over and signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
                # If the code has set SIG_DFL, the signal would end the kernel.
                self._expected = True
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def resend(self) -> bool:
        """Send an interrupt again that was sent and never arrived; return whether there was one.

        A signal that strikes between Python's last check and the system call of a `sleep` interrupts
        neither: the sleep goes on to its end.
        """
        with self._sending:
            lost = self._expected and not self._is_over and signal.getsignal(signal.SIGINT) == self._on_sigint
            if lost:
                self._resent = time.monotonic()
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            return lost

    def run(self, function: Callable[[], object]) -> None:
        """Run the code. An interrupt ends it, unless the code catches it."""
        try:
            self._open = True
            try:
                if not self.struck:  # else it came before the code started
                    function()
            finally:
                self._open = False
        except KeyboardInterrupt:
            self.struck = True
        self._delay.end()
        self._delayed = False

    def close(self) -> None:
        """Send no more interrupts; waits for one that is being sent."""
        with self._sending:
            self._is_over = True
        deadline = time.monotonic() + LONGEST_S  # the code may have set its own handler
        while self._expected and time.monotonic() < deadline:
            time.sleep(0)

    def _on_sigint(self, _number: int, frame: FrameType | None) -> None:
        if frame is not None:
            _resender.on_delivered()
        if self._expected:
            self._expected = False
        elif not self._delayed and time.monotonic() - self._resent < RESEND_S:
            return  # the first one arrived after all, just before it was sent again
        elif not self._delayed and not self.by_user:
            self.by_user = True
            self._on_user_stop()
        if not self._open:
            self.struck = True
        elif self._delay.extend(frame):
            self._delayed = True
        else:
            self._delayed = False
            self.struck = True
            raise KeyboardInterrupt
