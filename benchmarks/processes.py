"""What a supervisor adds to the start of a process.

From the request until the process has written: what a turn waits for.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

from acp_notebook.agent.processes.command import Command
from acp_notebook.agent.processes.direct import Direct
from acp_notebook.agent.processes.guardian import new_token
from acp_notebook.agent.processes.guardian_client import guardian
from acp_notebook.agent.processes.supervised import Supervised

STARTS = 40
ROUNDS = 3
ALLOWED_S = 0.010
"""The most that a supervisor may add."""

HELLO = Command(("/bin/echo", "hello"), "/", {"PATH": os.defpath})


def _start(kind: Callable[[Command, str, bool], Supervised | Direct]) -> float:
    """Seconds until the process has written its line."""
    token = new_token()
    guardian().watch(token)
    began = time.perf_counter()
    child = kind(HELLO, token, False)
    assert child.stdout.readline() == b"hello\n"
    seconds = time.perf_counter() - began
    while child.poll() is None:
        time.sleep(0.001)
    child.unwatch()
    child.stdout.close()
    guardian().forget(token)
    return seconds


def start_costs() -> tuple[float, float]:
    """Seconds of a supervised and of a direct start: the medians of the least disturbed round."""
    _start(Supervised)  # starts the guardian
    rounds = [
        tuple(statistics.median(_start(kind) for _ in range(STARTS)) for kind in (Supervised, Direct))
        for _ in range(ROUNDS)
    ]
    supervised, direct = zip(*rounds, strict=True)
    return min(supervised), min(direct)
