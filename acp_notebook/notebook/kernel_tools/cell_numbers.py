"""Execution counts for cells that run while another cell waits.

When the waiting cell ends, IPython reads its number from the counter again, for its result and for its reply.
So the numbers of cells that run in between are only reserved; the counter and the history (`In`, `Out`) are
updated when the waiting cell's reply has been sent. Main thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...log import logger
from ..ipykernel_compat import in_a_cell, request_of
from .restore import AttributeRestorer

_log = logger(__name__)


class _Ran(NamedTuple):
    """A cell that ran with a reserved number."""

    number: int
    source: str
    value: Any


class CellNumbers:
    """Assigns the execution counts of a kernel's cells; one instance per kernel."""

    def __init__(self, shell: Any, kernel: Any) -> None:
        self._shell = shell
        self._kernel = kernel
        self._reserved = 0
        self._ran: list[_Ran] = []
        self._restorer: AttributeRestorer | None = None

    def reserve(self) -> int | None:
        """Reserve the number of the next cell; None if this kernel does not report when a cell has ended."""
        if in_a_cell(self._shell) and not callable(getattr(self._kernel, "post_handler_hook", None)):
            return None
        number: int = self._shell.execution_count + self._reserved
        self._reserved += 1
        return number

    def record(self, number: int | None, source: str, value: Any) -> None:
        """Record a cell that has run; `value` is the value of its last line."""
        if number is None:
            return
        self._ran.append(_Ran(number, source, value))
        if not in_a_cell(self._shell):
            self._take_in()
        elif self._restorer is None:
            self._when_the_cell_has_ended(self._take_in)

    def _when_the_cell_has_ended(self, function: Callable[[], None]) -> None:
        kernel, restorer = self._kernel, AttributeRestorer()
        cell = request_of(kernel).get("header", {}).get("msg_id")
        ended = kernel.post_handler_hook

        def on_end() -> None:
            ended()
            if request_of(kernel).get("header", {}).get("msg_id") == cell:
                self._restorer = None
                restorer.restore()
                function()

        self._restorer = restorer
        restorer.set(kernel, "post_handler_hook", on_end)

    def _take_in(self) -> None:
        shell, ran = self._shell, self._ran
        self._ran, self._reserved = [], 0
        for number, source, value in ran:
            try:
                cell = shell.transform_cell(source)
            except Exception:  # it failed for that reason
                _log.debug("the cell could not be transformed", exc_info=True)
                cell = source
            shell.history_manager.store_inputs(number, cell, source)
            if value is not None and shell.displayhook.do_full_cache:
                shell.user_ns["_oh"][number] = shell.user_ns[f"_{number}"] = value
            shell.execution_count = max(shell.execution_count, number + 1)


_numbers: CellNumbers | None = None


def numbers_of(shell: Any, kernel: Any) -> CellNumbers:
    global _numbers
    if _numbers is None or _numbers._shell is not shell:
        _numbers = CellNumbers(shell, kernel)
    return _numbers
