"""Shows the kernel as busy while code of an agent runs between cells.

A page shows the state that it heard last, whatever it was about. After each message of a page's that is
handled meanwhile, in a subshell, the kernel says that it is idle: so the sign is shown again.
"""

from __future__ import annotations

import threading
from typing import Any

AGAIN_S = 0.1
"""After a message was handed on: the kernel has said by then that it is idle."""

_shown: set[BusySign] = set()


class BusySign:
    """Of one piece of code; shown on the main thread, and again from any."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._parent = kernel.session.msg("acp_run")
        self._lock = threading.Lock()
        self._is_shown = False

    def show(self) -> None:
        self._set("busy")
        _shown.add(self)

    def hide(self) -> None:
        _shown.discard(self)
        self._set("idle")

    def show_again(self) -> None:
        with self._lock:  # or it would stay, if the code ends at this moment
            if self._is_shown:
                self._kernel._publish_status("busy", "shell", parent=self._parent)

    def _set(self, state: str) -> None:
        with self._lock:
            self._is_shown = state == "busy"
            self._kernel._publish_status(state, "shell", parent=self._parent)


def is_shown() -> bool:
    return bool(_shown)


def show_again() -> None:
    for sign in tuple(_shown):
        sign.show_again()
