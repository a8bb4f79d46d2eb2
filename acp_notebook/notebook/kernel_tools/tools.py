"""The kernel of this process for the tools of one session; implements `core.kernel_tools.interface`."""

from __future__ import annotations

import asyncio
import itertools
import signal
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from ... import timeouts
from ...core.document_protocol import Failed, Unreachable
from ...core.kernel_tools.interface import (
    RUNS_KEPT,
    Block,
    FunctionCall,
    Inspection,
    OnChange,
    Run,
    Status,
)
from ...core.kernel_tools.results import output_blocks
from .. import kernel as notebook_kernel
from ..history import last_cell
from ..ipykernel_compat import in_a_cell, running_kernel
from ..open_documents import OpenDocuments
from . import variables
from .cell_numbers import numbers_of
from .cells import NO_PAGE, chosen, refusal, run_in_page
from .function_runs import BackgroundCall, MainCall
from .inspection import inspect_variable
from .main_activity import CellClock, main_activity
from .notebook import Notebooks
from .page_outputs import PageOutputs
from .runs import BY_USER, CodeRun
from .watched_run import Post

OnThread = Callable[[Callable[[], Any]], Awaitable[Any]]

NO_KERNEL = "There is no Jupyter kernel in this process, or one that is not known: code cannot run."
NOBODY_WAITS = (
    "Nothing was run: the function runs on the main thread of the user's script, which does not wait for a "
    "turn now. With thread=True it would run on a thread of its own."
)
MOST_THREADS = 32
"""Threads of functions. One that was stopped and still runs counts: threads cannot be ended."""

TOO_MANY = "Nothing was run: {} earlier calls still run on threads of their own. Wait until some have ended."
BUSY = "Nothing was run: the kernel is {}. Variables and the notebook can still be read."


_MISSING = object()


class LocalKernelTools:
    """Implements `KernelTools` for the kernel of this process. Lives on the loop thread."""

    def __init__(
        self,
        post: Post,
        on_a_thread: OnThread,
        documents: OpenDocuments | None = None,
        hide: Iterable[str] = (),
    ) -> None:
        self.on_user_stop: Callable[[], None] = lambda: None
        """Called on the loop thread when the user stops a run, so that the turn ends as well."""
        self._post = post
        self._on_a_thread = on_a_thread
        self._names = variables.Names(hide)
        self._kernel = running_kernel()
        self._shell = getattr(self._kernel, "shell", None)
        self._clock = None if self._shell is None else CellClock(self._shell)
        self._notebooks = Notebooks(documents, on_a_thread)
        self._runs: OrderedDict[str, CodeRun | BackgroundCall] = OrderedDict()
        self._background: set[BackgroundCall] = set()
        """The running calls of functions that do not need the main thread."""
        self._threads: list[BackgroundCall] = []
        """The calls whose threads ran when one was last started."""
        self._ids = itertools.count(1)
        self._active: CodeRun | None = None
        self._queue: deque[CodeRun] = deque()
        self._tasks: set[asyncio.Future[None]] = set()

    def close(self) -> None:
        self.interrupt_all()
        if self._clock is not None:
            self._clock.close()
            self._clock = None

    # ---- reading

    def state(self) -> str:
        if self._kernel is None:
            return "no kernel"
        if self._active is not None and not self._active.is_over:
            return f"running {self._active.id} since {self._active.state.seconds:.0f} s"
        activity = main_activity()
        if activity == "run":
            return "busy with code of another session"
        return str(self._clock) if activity == "user" and self._clock is not None else "idle"

    def list_variables(self, pattern: str | None = None, limit: int = 50) -> str:
        found = self._names.visible(self._namespace, self._built_in, pattern)
        return variables.list_variables(found, limit, pattern=pattern)

    async def inspect_variable(self, name: str, depth: int = 1, rows: int = 10) -> Inspection:
        value = self._namespace.get(name, _MISSING)
        if value is _MISSING or not name.isidentifier() or not self._names.sees(name, value, self._built_in):
            return Inspection(f"There is no variable {name!r}; list_variables names them.", found=False)
        try:
            async with asyncio.timeout(timeouts.get().inspect):
                found: Inspection = await self._on_a_thread(
                    lambda: inspect_variable(name, value, depth, rows)
                )
        except TimeoutError:
            why = f"`{name}` could not be looked at within {timeouts.get().inspect:.0f} s."
            return Inspection(why, needs_execution=name)
        return found

    @property
    def _namespace(self) -> dict[str, Any]:
        if self._shell is not None:
            namespace: dict[str, Any] = self._shell.user_ns
            return namespace
        return {}

    @property
    def _built_in(self) -> Mapping[str, Any]:
        return getattr(self._shell, "user_ns_hidden", {})

    async def read_notebook(self, cells: Sequence[str] | None = None, outputs: bool = False) -> str:
        outline = await self._notebooks.outline()
        return outline.text(cells, outputs=outputs)

    async def cell_sources(self, cells: Sequence[str]) -> tuple[tuple[str, str], ...]:
        outline = await self._notebooks.outline()
        found = [outline.find(it) for it in cells]
        return tuple((it.id, it.source) for it in found)

    async def read_output(self, ref: str, index: int | None = None, offset: int = 0) -> tuple[Block, ...]:
        run = self._runs.get(ref)
        if run is not None:
            state = run.state
            outputs = state.outputs or tuple(it for cell in state.cells for it in cell.outputs)
            return output_blocks(outputs, ref, index, offset)
        return output_blocks(await self._notebooks.outputs(ref), ref, index, offset)

    # ---- running

    def run(self, id: str) -> Run | None:
        return self._runs.get(id)

    def start_run(self, code: str, *, purpose: str = "", on_change: OnChange | None = None) -> Run:
        run = self._made([(None, code)], purpose, on_change)
        self._submit(run)
        return run

    def start_call(self, call: FunctionCall, *, on_change: OnChange | None = None) -> Run:
        id = f"run-{next(self._ids)}"
        if call.where == "main":
            options = {"on_change": on_change, "on_over": self._ended}
            run = MainCall(id, call, self._post, on_user_stop=lambda: self.on_user_stop(), **options)
            self._keep(run)
            self._submit(run)
            return run
        background = BackgroundCall(
            id,
            call,
            self._post,
            on_change=on_change,
            on_over=self._background.discard,
            after=last_cell(self._shell),
        )
        self._keep(background)
        self._background.add(background)
        if call.where == "loop":
            background.start_here()
        else:
            self._start_thread(background)
        return background

    def _start_thread(self, run: BackgroundCall) -> None:
        self._threads = [it for it in self._threads if it.has_thread]
        if len(self._threads) >= MOST_THREADS:
            run.finish("refused", TOO_MANY.format(len(self._threads)))
            return
        run.start_thread(self._shell)
        self._threads.append(run)

    async def run_cells(
        self,
        cells: Sequence[str],
        *,
        expected: Mapping[str, str] | None = None,
        on_change: OnChange | None = None,
    ) -> Run:
        found = chosen(await self._notebooks.outline(), cells)
        run = self._made([(it.id, it.source) for it in found], "", on_change)
        in_cell = self._shell is not None and in_a_cell(self._shell)
        waiting = self._clock.cell_id if in_cell and self._clock is not None else None
        why = refusal(found, expected, waiting)
        page = await self._notebooks.page()
        documents = self._notebooks.documents
        if why is not None:
            self._refuse(run, "refused", why)
        elif page is None or documents is None:
            run.notes.append(NO_PAGE)
            self._submit(run)
        elif not in_cell and self._active is None and main_activity() == "free":
            self._active = run
            run.interrupt_page = lambda: self._interrupt_page(run)
            self._tasks.add(task := asyncio.ensure_future(self._run_in_page(run, documents, page)))
            task.add_done_callback(self._tasks.discard)
        else:
            await self._show_in(run, documents, page)
            self._submit(run)
        return run

    async def _run_in_page(self, run: CodeRun, documents: OpenDocuments, page: Any) -> None:
        if not await run_in_page(run, documents, page):
            self._active = None
            await self._show_in(run, documents, page)
            self._submit(run)

    async def _show_in(self, run: CodeRun, documents: OpenDocuments, page: Any) -> None:
        """Show the outputs in the page while our own runner runs the cells."""
        try:
            await documents.prepare(page)
        except (Failed, Unreachable) as error:
            run.notes.append(f"{NO_PAGE} ({error})")
            return
        run.numbered = True
        run.show_in(PageOutputs(documents, page))

    def _interrupt_page(self, run: CodeRun) -> None:
        cell = self._clock.cell_id if self._clock is not None else None
        if cell in {it.cell for it in run.steps} and main_activity() == "user":
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def interrupt_all(self) -> None:
        for run in (*self._queue, self._active, *self._background):
            if run is not None:
                run.interrupt()

    def _made(
        self, sources: Sequence[tuple[str | None, str]], purpose: str, on_change: OnChange | None
    ) -> CodeRun:
        run = CodeRun(
            f"run-{next(self._ids)}",
            sources,
            self._post,
            purpose=purpose,
            on_change=on_change,
            on_over=self._ended,
            on_user_stop=lambda: self.on_user_stop(),
        )
        self._keep(run)
        return run

    def _keep(self, run: CodeRun | BackgroundCall) -> None:
        self._runs[run.id] = run
        while len(self._runs) > RUNS_KEPT:
            self._runs.popitem(last=False)

    def _submit(self, run: CodeRun) -> None:
        active = self._active
        if active is None:
            self._start(run)
        elif active.ignores_interrupt:
            run.withdraw()
            run.finish("busy", BUSY.format(f"busy with {active.id}, which ignores its interrupt"))
        else:
            self._queue.append(run)

    def _start(self, run: CodeRun) -> None:
        self._active = run
        job = self._job(run)
        if job is None:
            self._refuse(run, "refused", NO_KERNEL)
            return
        job.add_done_callback(lambda _: self._post(lambda: self._left(run)))
        self._look_later(run, time.monotonic())

    def _job(self, run: CodeRun) -> Future[None] | None:
        """Schedule the run on the main thread. Without a kernel, a function runs while the main thread waits
        for a turn, and code does not run."""
        if self._shell is not None:
            numbers = numbers_of(self._shell, self._kernel) if run.numbered else None
            return notebook_kernel.run_when_free(lambda: run.carry_out(self._shell, self._kernel, numbers))
        if isinstance(run, MainCall):
            return notebook_kernel.run_on_main(run.carry_out_alone)
        return None

    def _left(self, run: CodeRun) -> None:
        """Handle a job that the main thread has finished; an interrupt may have prevented its start."""
        if not run.has_begun:
            self._refuse(run, "interrupted", BY_USER)

    def _refuse(self, run: CodeRun, status: Status, note: str) -> None:
        if run.withdraw():
            run.finish(status, note)

    def _look_later(self, run: CodeRun, since: float) -> None:
        asyncio.get_running_loop().call_later(timeouts.get().run_busy_check, self._look, run, since)

    def _look(self, run: CodeRun, since: float) -> None:
        """Give up a run that cannot start: it must not start minutes later, when nobody expects it."""
        if run.has_begun or run.is_over:
            return
        activity = main_activity()
        if self._shell is None and time.monotonic() - since > timeouts.get().run_busy:
            self._refuse(run, "busy", NOBODY_WAITS)
        elif activity == "user":
            self._refuse(run, "busy", BUSY.format(self._clock))
        elif activity != "run" and time.monotonic() - since > timeouts.get().run_busy:
            self._refuse(run, "busy", BUSY.format("busy with something other than a cell"))
        else:
            self._look_later(run, since)

    def _ended(self, run: CodeRun) -> None:
        if run is not self._active:
            self._queue = deque(it for it in self._queue if it is not run)
            return
        self._active = None
        if self._queue:
            self._start(self._queue.popleft())
