"""Bounded waits for what only the operating system knows; other tests wait for events."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

DEADLINE_S = 60.0
"""Ends a test that hangs: much longer than anything takes, even on a machine twenty times slower."""


def wait_until(condition: Callable[[], bool], what: str, timeout: float = DEADLINE_S) -> None:
    """Wait until the condition holds; fails with `what`."""
    pause = threading.Event()
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout:g} s for: {what}"
        pause.wait(0.01)


def gone(pid: int) -> bool:
    """Whether no process has this id; a zombie counts as gone."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
