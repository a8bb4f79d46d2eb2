"""Serves the kernel tools of one session: checks a call, asks, calls the kernel, formats the result.

The gate handles permissions and cards, `KernelTools` is the kernel, the editor changes notebooks. No call
lasts longer than `tool_call`. Knows no transport. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from ... import timeouts
from ...core.actions import Action, RunCells, RunCode
from ...core.kernel_tools.calls import TOOLS, run_code
from ...core.kernel_tools.interface import KernelTools, NoNotebook, OnChange, Run, UnknownCell
from ...core.kernel_tools.results import progress_words, run_blocks
from ...core.records import Image, Text
from ...log import logger
from ...wire.mcp import ToolRequest
from ..files.roots import FileTrouble
from ..permissions.permission_manager import Denied
from . import catalog
from .function_tools import FunctionTools
from .functions import Functions
from .jobs import Job, Jobs
from .server import Result

_log = logger(__name__)

FAILED = frozenset({"error", "refused"})

NOTHING = "there is no such thing, or it failed"
"""The reason in the audit of a read that failed."""

EXPECTED = (Denied, FileTrouble, UnknownCell, NoNotebook, ValueError)
"""Errors that end a call with a message for the agent."""

SWITCHED_OFF = (
    "Not done: the user has switched the kernel's tools off for this session. Continue without them; do not "
    "try to reach the kernel in another way."
)


class CallGate(Protocol):
    """Decides about calls and shows them."""

    def check(self, request: ToolRequest) -> None:
        """Check a call that needs no question. Raises Denied if a rule forbids it."""

    async def permit(self, request: ToolRequest, action: Action) -> OnChange:
        """Wait for permission; return the function that shows the states of the run. Raises Denied."""

    def refused(self, request: ToolRequest) -> None:
        """The arguments of a function do not fit, so that nobody is asked."""

    def done(self, request: ToolRequest, failure: str | None) -> None:
        """A call without a question has ended. `failure`: why it returned nothing."""


class Editor(Protocol):
    """Changes the open notebook, with permission."""

    async def edit(self, request: ToolRequest, edits: Sequence[catalog.Edit]) -> str:
        """Make the edits; return a report for the agent.

        Raises Denied, FileTrouble, NoNotebook or ValueError.
        """


class KernelService:
    """Serves the kernel tools of one session."""

    instructions = catalog.INSTRUCTIONS

    def __init__(
        self,
        kernel: KernelTools,
        gate: CallGate,
        editor: Editor,
        *,
        denied: Sequence[str] = (),
        functions: Functions | None = None,
        called_by: Callable[[], AbstractContextManager[None]] = nullcontext,
        titled: str = "",
        clean: Callable[[str], str] = lambda text: text,
        on_use: Callable[[], None] = lambda: None,
    ) -> None:
        """`denied`: tools that are not offered. `functions`: the user's. `called_by` is entered around calls
        of them. `titled`: the server that titles name, if they do. `clean`
        removes secrets. `on_use` is called for each call."""
        self._kernel = kernel
        self._gate = gate
        self._editor = editor
        self._names = tuple(name for name in TOOLS if name not in denied)
        self._functions = FunctionTools(functions or Functions(), kernel, gate, called_by)
        self._titled = titled
        self._clean = clean
        self._on_use = on_use
        self._jobs = Jobs()
        self._waiting: dict[asyncio.Task[Any] | None, Job] = {}
        """The jobs that calls wait for, by the task of the call."""
        self._is_on = True

    def listed(self) -> list[dict[str, Any]]:
        if not self._is_on:
            return []
        described = self._functions.described()
        listed = catalog.listed(self._names, server=self._titled, functions=described)
        return [*listed, *self._functions.listed(self._titled)]

    def switch(self, on: bool) -> None:
        """Off: list nothing, stop what runs, and refuse each call with a reason."""
        self._is_on = on
        if not on:
            self.stop()

    def stop(self) -> None:
        """Stop everything that this session runs: after a cancel, a turn, a limit or the agent's death."""
        self._jobs.stop_all()
        self._kernel.interrupt_all()

    async def call(self, request: ToolRequest) -> Result:
        if not self._is_on:
            return _failed(SWITCHED_OFF)
        try:
            if request.name in self._names:
                self._on_use()
                result = await self._serve(request, catalog.read_arguments(request.name, request.arguments))
            elif self._functions.has(request.name):
                self._on_use()
                starting = self._functions.start(request, request.name, request.arguments)
                result = await self._begin(starting, catalog.WAIT_S)
            else:
                raise Denied(f"there is no tool {request.name[:100]!r}; there are {', '.join(self._names)}")
        except Denied as denied:
            result = _failed(f"Not done: {denied}.")
        except EXPECTED as error:
            result = _failed(str(error))
        except Exception as unexpected:  # a bug: the agent must not wait for ever
            _log.warning("a tool of the kernel failed", exc_info=True)
            result = _failed(f"The tool failed: {unexpected!r}")
        return Result(tuple(self._cleaned(block) for block in result.blocks), result.failed)

    def progress(self, task: asyncio.Task[Any] | None) -> str:
        job = self._waiting.get(task)
        return "" if job is None or job.run is None else self._clean(progress_words(job.run.state))

    def _cleaned(self, block: Text | Image) -> Text | Image:
        return Text(self._clean(block.text)) if isinstance(block, Text) else block

    async def _serve(self, request: ToolRequest, given: catalog.Arguments) -> Result:
        match given:
            case catalog.RunCode():
                action = run_code(given.code, given.purpose)
                return await self._begin(self._start_code(request, action), given.wait_s)
            case catalog.RunCells():
                return await self._begin(self._start_cells(request, given.cells), given.wait_s)
            case catalog.CallFunction() if given.name.strip():
                starting = self._functions.start(request, given.name.strip(), given.arguments)
                return await self._begin(starting, given.wait_s)
            case catalog.EditNotebook():
                return await self._begin(self._editor.edit(request, given.edits), catalog.WAIT_S)
        try:
            self._gate.check(request)
            result = await self._read(request, given)
        except EXPECTED as error:
            self._gate.done(request, str(error))
            raise
        self._gate.done(request, NOTHING if result.failed else None)
        return result

    async def _read(self, request: ToolRequest, given: catalog.Arguments) -> Result:
        kernel = self._kernel
        match given:
            case catalog.ListVariables():
                return self._text(kernel.list_variables(given.pattern or None, given.limit))
            case catalog.InspectVariable():
                return await self._inspect(request, given)
            case catalog.ReadNotebook():
                return self._text(await kernel.read_notebook(given.cells or None, given.outputs))
            case catalog.ReadOutput():
                index = None if given.index < 0 else given.index
                return Result(await kernel.read_output(given.cell, index, given.offset))
            case catalog.CallFunction():
                return self._text(self._functions.all_described())
            case catalog.Wait():
                return await self._wait(self._job(given.run), given.wait_s)
            case catalog.Interrupt():
                job = self._job(given.run)
                job.stop()
                return await self._wait(job, timeouts.get().tool_call / 10)
        raise AssertionError(given)

    def _text(self, text: str) -> Result:
        return Result((Text(f"{text}\nkernel: {self._kernel.state()}"),))

    async def _inspect(self, request: ToolRequest, given: catalog.InspectVariable) -> Result:
        found = await self._kernel.inspect_variable(given.name, given.depth, given.rows)
        if found.needs_execution is None or "run_code" not in self._names:
            return Result(found.blocks, failed=not found.found)
        action = run_code(found.needs_execution, f"Look at {given.name}: that runs code of its class")
        return await self._begin(self._start_code(request, action), catalog.WAIT_S)

    # ---- code -------------------------------------------------------------------------------------

    async def _start_code(self, request: ToolRequest, action: RunCode) -> Run:
        show = await self._gate.permit(request, action)
        return self._kernel.start_run(action.code, purpose=action.purpose, on_change=show)

    async def _start_cells(self, request: ToolRequest, cells: Sequence[str]) -> Run:
        sources = await self._kernel.cell_sources(cells)
        show = await self._gate.permit(request, RunCells(sources))
        ids = [id for id, _ in sources]
        return await self._kernel.run_cells(ids, expected=dict(sources), on_change=show)

    def _job(self, id: str) -> Job:
        job = self._jobs.find(id.strip())
        if job is None:
            raise ValueError(f"There is no run {id[:100]!r} of this session.")
        return job

    async def _begin(self, starting: Coroutine[Any, Any, Run | str], wait_s: float) -> Result:
        job = self._jobs.begin(starting)
        try:
            return await self._wait(job, wait_s)
        except asyncio.CancelledError:  # the agent cancelled the call, or is gone
            job.stop()
            raise

    async def _wait(self, job: Job, wait_s: float) -> Result:
        """Wait for the job, at most `wait_s`, and return its state. Raises the error of its start."""
        task = asyncio.current_task()
        self._waiting[task] = job
        try:
            return await self._state_of(job, wait_s)
        finally:
            del self._waiting[task]

    async def _state_of(self, job: Job, wait_s: float) -> Result:
        loop = asyncio.get_running_loop()
        until = loop.time() + timeouts.get().tool_call
        await asyncio.wait({job.starting}, timeout=min(catalog.WAIT_S, timeouts.get().tool_call))
        if not job.starting.done():
            return Result((Text(f"Waiting for the user's permission. Call wait(run={job.id!r})."),))
        if job.starting.cancelled():
            raise Denied("it was stopped before it began")
        run = job.starting.result()
        if isinstance(run, str):
            return Result((Text(run),))
        state = await run.wait(max(0.0, min(wait_s, catalog.WAIT_S, until - loop.time())))
        blocks = run_blocks(state, job.seen, footer=f"kernel: {self._kernel.state()}")
        job.seen = state
        return Result(blocks, failed=state.status in FAILED)


def _failed(text: str) -> Result:
    return Result((Text(text),), failed=True)
