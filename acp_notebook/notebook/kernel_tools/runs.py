"""Runs of code: controlled on the loop thread, executed on the main thread.

`run_code` has one step, `run_cells` one for each cell.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ... import timeouts
from ...core.kernel_tools.interface import (
    CellRun,
    OnChange,
    Output,
    RunState,
    Status,
)
from ..busy_sign import BusySign
from ..early_replies import early_replies
from ..history import last_cell
from .cell_numbers import CellNumbers
from .code_gate import RESEND_S, CodeGate
from .execute import Execution
from .outputs import Outputs
from .page_outputs import PageOutputs
from .watched_run import Post, WatchedRun

StepStatus = Literal["waiting", "running", "ok", "error", "interrupted", "skipped"]

NOT_BEGUN = "It was stopped before it began."
BY_USER = "The user stopped it."
IGNORES = (
    "It was interrupted {:.0f} s ago and still runs: the code ignores that, or a library does. "
    "Until it ends, no other code can run; reading still works."
)
BROKEN = "The run failed outside of the code ({}); the code may have changed what runs it."


class RunStep:
    """One piece of code: a cell, or all the code of `run_code`."""

    def __init__(self, source: str, cell: str | None, changed: Callable[[], None]) -> None:
        self.source = source
        self.cell = cell
        self.outputs = Outputs(changed)
        self.status: StepStatus = "waiting"
        self.count: int | None = None
        self.shown: tuple[Output, ...] | None = None
        """The outputs in the page, if the page ran it."""

    @property
    def records(self) -> tuple[Output, ...]:
        return self.outputs.snapshot() if self.shown is None else self.shown

    @property
    def record(self) -> CellRun:
        return CellRun(self.cell or "", self.status, self.count, self.records, self.source)


class CodeRun(WatchedRun):
    """Executes code in steps; implements `core.kernel_tools.interface.Run`."""

    def __init__(
        self,
        id: str,
        sources: Sequence[tuple[str | None, str]],
        post: Post,
        *,
        purpose: str = "",
        on_change: OnChange | None = None,
        on_over: Callable[[CodeRun], None] = lambda run: None,
        on_user_stop: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(id, post, on_change)
        self._purpose = purpose
        self._on_over = on_over
        self.steps = [RunStep(source, cell, self._touched) for cell, source in sources]
        self.notes: list[str] = []
        self._gate = CodeGate(lambda: post(on_user_stop))
        self._deciding = threading.Lock()
        self._has_begun = self._is_withdrawn = False
        self._began: float | None = None
        self._ended: float | None = None
        self._after: int | None = None
        self._status: Status = "running"
        self._ignores = False
        self._in_page = self._was_interrupted = False
        self.numbered = False
        """Whether its cells get execution counts."""
        self._page: PageOutputs | None = None
        self.interrupt_page: Callable[[], None] = lambda: None
        """Interrupts the cell that the page runs."""

    # ---- on the loop thread

    @property
    def has_begun(self) -> bool:
        return self._has_begun

    @property
    def ignores_interrupt(self) -> bool:
        return self._ignores and not self._is_over

    @property
    def state(self) -> RunState:
        seconds = 0.0 if self._began is None else (self._ended or time.monotonic()) - self._began
        by_cell = self.steps and self.steps[0].cell is not None
        ignores = IGNORES.format(timeouts.get().run_ignored)
        notes = [*self.notes, *([ignores] if self.ignores_interrupt else [])]
        dropped = sum(it.outputs.dropped for it in self.steps)
        if dropped:
            notes.append(f"{dropped:,} outputs in the middle were left out.")
        return RunState(
            self._id,
            self._status if self._is_over else "running",
            seconds,
            () if by_cell or not self.steps else self.steps[0].outputs.snapshot(),
            tuple(it.record for it in self.steps) if by_cell else (),
            tuple(notes),
            "\n\n".join(it.source for it in self.steps),
            self._purpose,
            after=self._after,
        )

    def interrupt(self) -> None:
        if self._is_over:
            return
        if self.withdraw():
            self.finish("interrupted", NOT_BEGUN)
            return
        self._was_interrupted = True
        if self._in_page:
            self.interrupt_page()
        else:
            self._gate.interrupt()
            asyncio.get_running_loop().call_later(RESEND_S, self._resend_interrupt)
        asyncio.get_running_loop().call_later(timeouts.get().run_ignored, self._look_after_interrupt)

    def _resend_interrupt(self) -> None:
        if self._gate.resend():
            asyncio.get_running_loop().call_later(RESEND_S, self._resend_interrupt)

    def _look_after_interrupt(self) -> None:
        if not self._is_over:
            self._ignores = True
            self._touched()

    def withdraw(self) -> bool:
        """Prevent the run from starting; False if it has started."""
        with self._deciding:
            if not self._has_begun:
                self._is_withdrawn = True
            return self._is_withdrawn

    def begin_elsewhere(self) -> None:
        """Mark the run as started by the page; an interrupt then goes to the running cell."""
        self._in_page = self._has_begun = True
        self._began = time.monotonic()

    def begin_here(self) -> None:
        """Mark the run as not started: the page could not run it."""
        self._in_page = self._has_begun = False
        self._began = None

    @property
    def was_interrupted(self) -> bool:
        return self._was_interrupted

    def finish(self, status: Status, *notes: str) -> None:
        """End the run, on the loop thread."""
        if self._is_over:
            return
        self._status = status
        self.notes += notes
        self._ended = self._ended or time.monotonic()
        for step in self.steps:
            if step.status in ("waiting", "running"):
                step.status = "skipped"
        self._is_over = True
        self._on_over(self)
        if self._page is None:
            self._announce_end()
        else:
            self._showing = asyncio.ensure_future(self._show_end(self._page))

    async def _show_end(self, page: PageOutputs) -> None:
        """Wait until the page has the final outputs: callers that wait for the run read the notebook next."""
        try:
            self.notes += await page.finish(self.state)
        finally:
            self._announce_end()

    def show_in(self, page: PageOutputs) -> None:
        self._page = page

    def _flush(self) -> None:
        if self._page is not None and not self._is_over:
            self._page.changed(self.state)
        super()._flush()

    # ---- on the main thread

    def carry_out(self, shell: Any, kernel: Any, numbers: CellNumbers | None = None) -> None:
        """Run the steps. Raises KeyboardInterrupt if the user pressed stop, so that the turn ends as well."""
        with self._gate:  # from here on, an interrupt is only noted, unless the code itself is running
            try:
                if self._begin():
                    self._carry_out(shell, kernel, numbers)
            finally:
                self._gate.close()
        if self._gate.by_user:
            raise KeyboardInterrupt

    def _begin(self) -> bool:
        with self._deciding:
            self._has_begun = not self._is_withdrawn
            return self._has_begun

    def _carry_out(self, shell: Any, kernel: Any, numbers: CellNumbers | None) -> None:
        self._began = time.monotonic()
        self._after = last_cell(shell)
        status: Status = "error"
        notes: list[str] = []
        sign = BusySign(kernel)
        try:
            sign.show()
            with early_replies(kernel):
                status = self._run_steps(shell, kernel, notes, numbers)
        except Exception as error:  # the code may have changed anything, including our modules
            notes.append(BROKEN.format(f"{type(error).__name__}: {error}"))
        finally:
            self._ended = time.monotonic()
            sign.hide()
            if self._gate.by_user:
                notes.append(BY_USER)
            self._post(lambda: self.finish(status, *notes))

    def _run_steps(self, shell: Any, kernel: Any, notes: list[str], numbers: CellNumbers | None) -> Status:
        """Run each step. With `numbers`, the cells get execution counts."""
        for step in self.steps:
            step.status = "running"
            number = None if numbers is None else numbers.reserve()
            label = step.cell or self._id if number is None else str(number)
            execution = Execution(shell, kernel, step.outputs, self._gate, label)
            step.status = execution.run(step.source)
            if numbers is not None:
                step.count = number
                numbers.record(number, step.source, execution.value)
            notes += execution.notes
            self._touched()
            if step.status != "ok":
                return step.status
        return "ok"
