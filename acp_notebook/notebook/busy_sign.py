"""Shows the kernel as busy while an agent's code runs between cells.

A page shows the status it received last, whichever request that belonged to. The kernel reports idle after
every message it handles in the meantime, on a subshell or the control channel; each idle is followed by
another busy.
"""

from __future__ import annotations

import threading
from typing import Any


class BusySign:
    """Keeps the kernel's status at busy from `show` to `hide`; both are called on the main thread."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._publish = kernel._publish_status
        self._parent = kernel.session.msg("acp_run")
        self._lock = threading.Lock()
        self._is_shown = False

    def show(self) -> None:
        self._kernel._publish_status = self._publish_and_restore  # on this object, not on its class
        self._set("busy")

    def hide(self) -> None:
        self._kernel._publish_status = self._publish
        self._set("idle")

    def _publish_and_restore(self, status: str, channel: str, parent: Any = None) -> None:
        """Replaces the kernel's `_publish_status`; called on any thread."""
        self._publish(status, channel, parent)
        with self._lock:  # a busy that followed the final idle would stay
            if status == "idle" and self._is_shown:
                self._publish("busy", "shell", self._parent)

    def _set(self, status: str) -> None:
        with self._lock:
            self._is_shown = status == "busy"
            self._publish(status, "shell", self._parent)
