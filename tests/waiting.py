"""Bounded waits for what only the operating system knows; everything else waits for events."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

DEADLINE_S = 60.0
"""Much longer than anything takes, also on a machine twenty times slower: it ends a test that hangs."""


def wait_until(condition: Callable[[], bool], what: str, timeout: float = DEADLINE_S) -> None:
    """Wait until it holds; fails with what was waited for."""
    pause = threading.Event()
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout:g} s in vain: {what}"
        pause.wait(0.01)


def gone(pid: int) -> bool:
    """No process of that id runs any more; one that has ended and only waits to be reaped counts as gone."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
