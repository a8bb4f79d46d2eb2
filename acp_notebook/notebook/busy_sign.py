"""Shows the kernel as busy while an agent's code runs between cells, or while one of our waits blocks a cell.

A page shows the status it received last, whichever request that belonged to. The kernel reports idle after
every message it handles in the meantime: in a wait, on a subshell or the control channel. Each idle is
followed by another busy.
"""

from __future__ import annotations

import threading
from typing import Any

from .ipykernel_compat import in_a_cell


class BusySign:
    """Keeps the kernel's status at busy from `show` to `hide`; both are called on the main thread.

    Signs may be nested: code that runs between cells may wait for an agent.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._publish = kernel._publish_status
        self._parent: Any = None
        self._lock = threading.Lock()
        self._is_shown = False

    def show(self) -> None:
        if self._is_shown:
            return
        self._publish = self._kernel._publish_status
        self._parent = self._kernel.session.msg("acp_run")
        self._kernel._publish_status = self._publish_and_restore  # on this object, not on its class
        with self._lock:
            self._is_shown = True
            self._publish("busy", "shell", self._parent)

    def hide(self) -> None:
        """Publishes idle, unless a cell is still running: the kernel reports its end itself."""
        if not self._is_shown:
            return
        self._kernel._publish_status = self._publish
        with self._lock:
            self._is_shown = False
            if not in_a_cell(self._kernel.shell):
                self._publish("idle", "shell", self._parent)

    def _publish_and_restore(self, status: str, channel: str, parent: Any = None) -> None:
        """Replaces the kernel's `_publish_status`; called on any thread."""
        self._publish(status, channel, parent)
        with self._lock:  # a busy that followed the final idle would stay
            if status == "idle" and self._is_shown:
                self._publish("busy", "shell", self._parent)
