"""What the main thread does: nothing, one of the user's cells, one of our waits, or a run.

Read from its stack, from any thread. Hooks into IPython only to know how long a cell has been running.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import CodeType
from typing import Any, Literal

from .. import kernel
from ..ipykernel_compat import in_a_cell, request_of
from .type_checks import loaded

Activity = Literal["free", "waiting", "run", "user"]
"""free: between cells, or a cell awaits. waiting: a cell is in one of our waits, which run our jobs. run: an
agent's code. user: the user's own code."""

_run_codes: dict[int, CodeType] = {}
"""The functions that run an agent's code, by id: hashing a code object hashes all of its parts."""

_WAIT = kernel._until_done.__code__


def runs_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function whose frame on the stack means that an agent's code is running."""
    _run_codes[id(function.__code__)] = function.__code__
    return function


def main_activity() -> Activity:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    shells = _shells_code()
    in_code = False
    while frame is not None:  # from the innermost frame outwards
        code = frame.f_code
        if id(code) in _run_codes:
            return "run"
        if code is _WAIT:
            return "user" if in_code else "waiting"
        in_code = in_code or code is shells
        frame = frame.f_back
    return "user" if in_code else "free"


def _shells_code() -> CodeType | None:
    """The code objects of IPython that run a cell or an agent's code."""
    shell = loaded("IPython.core.interactiveshell", "InteractiveShell")
    return getattr(getattr(shell, "run_code", None), "__code__", None)


class CellClock:
    """Knows which cell started last, and when."""

    def __init__(self, shell: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._shell = shell
        self._clock = clock
        self._began = clock()
        self._count: int | None = shell.execution_count - 1 if in_a_cell(shell) else None
        request = request_of(shell.kernel) if in_a_cell(shell) else {}
        self.cell_id: str | None = (request.get("metadata") or {}).get("cellId")
        shell.events.register("pre_run_cell", self._pre_run_cell)

    def close(self) -> None:
        self._shell.events.unregister("pre_run_cell", self._pre_run_cell)

    def _pre_run_cell(self, info: Any) -> None:
        if not getattr(info, "store_history", False):
            return  # an agent's code, or a silent execution
        self._began = self._clock()
        self._count = self._shell.execution_count - 1
        self.cell_id = getattr(info, "cell_id", None)

    def __str__(self) -> str:
        cell = "the user's code" if self._count is None else f"the user's cell [{self._count}]"
        return f"busy {self._clock() - self._began:.0f} s with {cell}"
