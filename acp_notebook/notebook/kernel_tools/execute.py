"""Runs code once, on the main thread, as IPython runs a cell, and records the result."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any, Literal

from ...core.kernel_tools.interface import Failure, FunctionCall
from ...log import logger
from .capture import Capture, message_of
from .code_gate import CodeGate
from .function_results import show_value
from .main_activity import runs_code
from .outputs import Outputs
from .private_loop import run_alone, run_sync
from .progress import Report

_log = logger(__name__)

_getpid, _exit = os.getpid, os._exit
"""The originals, before an agent's code could replace them."""

Ended = Literal["ok", "error", "interrupted"]

STILL_WRITING = "Child processes of the code still write: what comes from now on goes to the user's cell."
OTHER_LOOP = (
    "Top-level await runs on an event loop of its own here: what belongs to the kernel's loop, such as a "
    "client that a cell made, cannot be awaited."
)


class Execution:
    """Executes one piece of code, and holds its result."""

    def __init__(self, shell: Any, kernel: Any, outputs: Outputs, gate: CodeGate, label: str) -> None:
        self._shell = shell
        self._kernel = kernel
        self._outputs = outputs
        self._gate = gate
        self._label = label
        self.notes: list[str] = []
        self.value: Any = None
        """The value of the last line."""

    def run(self, code: str) -> Ended:
        """Run the code. The gate, already entered, only notes interrupts until the code itself runs."""
        return self._captured(lambda capture: _run_cell(self._shell, code, capture, self.notes))

    def call(self, call: FunctionCall, report: Report) -> Ended:
        """Call a function in the same way."""
        return self._captured(lambda capture: _call(self._shell, call, report, self._outputs, self.notes))

    def _captured(self, run: Callable[[Capture], Any]) -> Ended:
        home = _getpid()
        capture = Capture(self._shell, self._kernel, self._outputs, self._label)
        results: list[Any] = []
        try:
            self._gate.run(lambda: results.append(run(capture)))
            if _getpid() != home:
                _exit(0)  # a forked process that the code did not end: there must not be a second kernel
            capture.take_pages()
            if not capture.streams.drain():
                self.notes.append(STILL_WRITING)
        finally:
            capture.end()
        result = results[0] if results else None
        self.value = getattr(result, "result", None)
        return self._ended(result, capture)

    def _ended(self, result: Any, capture: Capture) -> Ended:
        if result is None:  # ended by an interrupt that IPython did not catch, or by an error in IPython
            return "interrupted" if self._gate.struck else "error"
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            return "ok"
        if self._gate.struck and isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
            return "interrupted"
        if not capture.has_failed:  # a UsageError or an exception group, which IPython prints
            name = type(error).__name__
            self._outputs.fail(Failure(name, message_of(error), f"{name}: {message_of(error)}"))
        if "different loop" in message_of(error):
            self.notes.append(OTHER_LOOP)
        return "error"


@runs_code
def _run_cell(shell: Any, code: str, capture: Capture, notes: list[str]) -> Any:
    """Like ipykernel's `do_execute`, but without an entry in the history."""
    failure = None
    try:
        cell = shell.transform_cell(code)
    except Exception:
        _log.debug("the code could not be transformed", exc_info=True)
        cell, failure = code, sys.exc_info()
    capture.running(cell)
    run: Callable[..., Any] = shell.run_cell_async
    coroutine = run(code, store_history=False, transformed_cell=cell, preprocessing_exc_tuple=failure)
    result = None
    try:
        if shell.should_run_async(code, transformed_cell=cell, preprocessing_exc_tuple=failure):
            result = _awaited(coroutine, notes)
        else:
            result = run_sync(coroutine)
    finally:
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)
    return result


class CallResult:
    """How the call of a function ended, with the names that IPython's result of a cell has."""

    def __init__(self) -> None:
        self.result: Any = None
        self.error_before_exec: BaseException | None = None
        self.error_in_exec: BaseException | None = None


@runs_code
def _call(shell: Any, call: FunctionCall, report: Report, outputs: Outputs, notes: list[str]) -> CallResult:
    """Call a function as a cell would, and show what it returns as the cell's result."""
    result = CallResult()
    try:
        with call.called_by():
            value = call.function(
                *call.positional, **call.named, **({"report": report} if call.reports else {})
            )
            result.result = _awaited(value, notes) if inspect.isawaitable(value) else value
        show_value(result.result, outputs, shell)
    except BaseException as error:  # as IPython does with a cell's
        result.error_in_exec = error
        shell.showtraceback()
    finally:
        shell.events.trigger("post_execute")
    return result


def _awaited(awaitable: Any, notes: list[str]) -> Any:
    async def result() -> Any:
        return await awaitable

    coroutine = awaitable if inspect.iscoroutine(awaitable) else result()
    value, tasks = run_alone(coroutine)
    if tasks:
        notes.append(f"{tasks} task(s) that the code left behind were cancelled; await them.")
    return value
