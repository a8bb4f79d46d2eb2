"""Calls of the user's functions as runs: on the main thread like code, on a thread, or on the loop thread."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from msgspec.structs import replace

from ... import timeouts
from ...core.kernel_tools.interface import FunctionCall, OnChange, RunState, Status
from ...log import logger, suppressed
from .cell_numbers import CellNumbers
from .execute import Execution
from .function_results import show_error, show_value
from .main_activity import runs_code
from .outputs import Outputs
from .private_loop import run_alone
from .progress import Progress
from .runs import BY_USER, CodeRun
from .streams import ReplacedStream
from .thread_outputs import captured_here
from .watched_run import Post, WatchedRun

_log = logger(__name__)

STILL_RUNS = (
    "It was asked to stop and still runs on its own thread: a function sees that when it calls report(), or "
    "awaits. Its result will be dropped."
)
STILL_ENDS = "It was asked to stop and has not ended yet. Its result will be dropped."


def _with_call(state: RunState, call: FunctionCall, progress: Progress) -> RunState:
    return replace(
        state,
        code="",
        function=call.name,
        arguments=call.shown,
        progress=progress.fraction,
        progress_text=progress.text,
        session=progress.session,
    )


class MainCall(CodeRun):
    """A call on the main thread, captured and stopped like code."""

    def __init__(self, id: str, call: FunctionCall, post: Post, **options: Any) -> None:
        super().__init__(id, [(None, "")], post, **options)
        self._call = call
        self._progress = Progress(self._touched)

    @property
    def state(self) -> RunState:
        return _with_call(super().state, self._call, self._progress)

    def _run_steps(self, shell: Any, kernel: Any, notes: list[str], numbers: CellNumbers | None) -> Status:
        step = self.steps[0]
        step.status = "running"
        execution = Execution(shell, kernel, step.outputs, self._gate, self.id)
        step.status = execution.call(self._call, self._progress.report)
        notes += execution.notes
        return step.status

    def carry_out_alone(self) -> None:
        """Call it in a process without a kernel, on the main thread, in one of our waits there."""
        with self._gate:
            try:
                if self._begin():
                    self._carry_out_alone()
            finally:
                self._gate.close()
        if self._gate.by_user:
            raise KeyboardInterrupt

    def _carry_out_alone(self) -> None:
        self._began = time.monotonic()
        status: Status = "interrupted"
        outputs = self.steps[0].outputs
        ends: list[Status] = []
        try:
            out, err = (_stream(outputs, name) for name in ("stdout", "stderr"))
            with redirect_stdout(out), redirect_stderr(err):
                self._gate.run(lambda: ends.append(self._call_alone(outputs)))
            status = ends[0] if ends else "interrupted"
        finally:
            self._ended = time.monotonic()
            notes = [BY_USER] if self._gate.by_user else []
            self._post(lambda: self.finish(status, *notes))

    def _call_alone(self, outputs: Outputs) -> Status:
        status: Status = _called(self._call, self._progress, outputs, was_stopped=lambda: self._gate.struck)
        return status


def _stream(outputs: Outputs, name: Any) -> ReplacedStream:
    return ReplacedStream(lambda text: outputs.write(name, text))


@runs_code
def _called(
    call: FunctionCall,
    progress: Progress,
    outputs: Outputs,
    on_task: Callable[[asyncio.Task[Any]], None] = lambda task: None,
    was_stopped: Callable[[], bool] = lambda: False,
) -> Status:
    """Call a function and show its result or its error."""
    try:
        with call.called_by():
            named = {**call.named, **({"report": progress.report} if call.reports else {})}
            value = call.function(*call.positional, **named)
            if inspect.isawaitable(value):
                value, _ = run_alone(_awaited(value, on_task))
        if progress.is_cancelled:
            return "interrupted"
        show_value(value, outputs)
    except BaseException as error:  # also SystemExit, which would end the thread without a word
        is_stop = isinstance(error, asyncio.CancelledError) and progress.is_cancelled
        if is_stop or was_stopped():
            return "interrupted"
        show_error(error, outputs)
        return "error"
    return "ok"


async def _awaited(value: Any, on_task: Callable[[asyncio.Task[Any]], None]) -> Any:
    task = asyncio.current_task()
    if task is not None:
        on_task(task)
    return await value


class BackgroundCall(WatchedRun):
    """A call that does not need the main thread; implements `core.kernel_tools.interface.Run`."""

    def __init__(
        self,
        id: str,
        call: FunctionCall,
        post: Post,
        *,
        on_change: OnChange | None = None,
        on_over: Callable[[BackgroundCall], None] = lambda run: None,
        after: int | None = None,
    ) -> None:
        super().__init__(id, post, on_change)
        self._after = after
        self._call = call
        self._on_over = on_over
        self.outputs = Outputs(self._touched)
        self.progress = Progress(self._touched)
        self._status: Status = "running"
        self._notes: tuple[str, ...] = ()
        self._began = time.monotonic()
        self._ended: float | None = None
        self._thread: threading.Thread | None = None
        self._cancel: Callable[[], object] = lambda: None
        """Cancels the coroutine, on the loop thread."""

    @property
    def ignores_interrupt(self) -> bool:
        return False

    @property
    def state(self) -> RunState:
        seconds = (self._ended or time.monotonic()) - self._began
        outputs = self.outputs.snapshot()
        state = RunState(self._id, self._status, seconds, outputs, notes=self._notes, after=self._after)
        return _with_call(state, self._call, self.progress)

    def interrupt(self) -> None:
        if self.is_over or self.progress.is_cancelled:
            return
        self.progress.is_cancelled = True
        self._cancel()
        asyncio.get_running_loop().call_later(timeouts.get().run_ignored, self._give_up)

    def _give_up(self) -> None:
        self.finish("interrupted", STILL_ENDS if self._call.where == "loop" else STILL_RUNS)

    def finish(self, status: Status, *notes: str) -> None:
        """End the run, on the loop thread; what comes later is dropped."""
        if self.is_over:
            return
        self._status, self._notes = status, notes
        self._ended = time.monotonic()
        self._is_over = True
        self._on_over(self)
        self._announce_end()

    # ---- how it runs

    def start_thread(self, shell: Any) -> None:
        """Call it on a thread of its own. `shell`: the kernel's, if there is one."""
        work = threading.Thread(target=self._on_its_thread, args=(shell,), name="acp-function", daemon=True)
        self._thread = work
        work.start()

    @property
    def has_thread(self) -> bool:
        """Whether its thread runs, perhaps although the run is over."""
        return self._thread is not None and self._thread.is_alive()

    def _on_its_thread(self, shell: Any) -> None:
        status: Status = "error"
        try:
            with captured_here(self.outputs, shell):
                status = _called(self._call, self.progress, self.outputs, self._cancels)
        finally:
            self._post(lambda: self.finish(status))

    def _cancels(self, task: asyncio.Task[Any]) -> None:
        loop = task.get_loop()

        def cancel() -> None:
            with suppressed(_log, RuntimeError):  # its loop has ended in the meantime
                loop.call_soon_threadsafe(task.cancel)

        self._cancel = cancel
        if self.progress.is_cancelled:
            task.cancel()

    def start_here(self) -> None:
        """Run the coroutine function on the loop thread, where we are."""
        task = asyncio.ensure_future(self._on_the_loop())
        self._cancel = task.cancel

    async def _on_the_loop(self) -> None:
        status: Status = "interrupted"
        try:
            with self._call.called_by():
                named = {**self._call.named, "progress": self.progress}
                value = await self._call.function(*self._call.positional, **named)
            show_value(value, self.outputs)
            status = "ok"
        except asyncio.CancelledError:
            pass  # `finish` says so
        except Exception as error:  # of whatever the function does
            show_error(error, self.outputs)
            status = "error"
        finally:
            self.finish(status)
