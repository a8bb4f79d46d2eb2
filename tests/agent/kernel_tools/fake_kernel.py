"""A kernel without Jupyter, for the tests: runs end when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from acp_notebook.core.kernel_tools.interface import (
    Block,
    CellRun,
    FunctionCall,
    Inspection,
    OnChange,
    Output,
    RunState,
    Status,
    Stream,
    UnknownCell,
)
from acp_notebook.core.records import Text


class FakeRun:
    def __init__(self, state: RunState, on_change: OnChange | None) -> None:
        self._state = state
        self._on_change = on_change
        self._over = asyncio.Event()
        self.interrupted = False
        self.ignores_interrupt = False

    @property
    def id(self) -> str:
        return self._state.id

    @property
    def state(self) -> RunState:
        return self._state

    async def wait(self, seconds: float) -> RunState:
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            pass
        return self._state

    def interrupt(self) -> None:
        if not self._state.is_over:
            self.interrupted = True
            self.end("interrupted")

    def put_out(self, *outputs: Output) -> None:
        self._change(replace(self._state, outputs=(*self._state.outputs, *outputs)))

    def end(self, status: Status = "ok") -> None:
        self._change(replace(self._state, status=status, seconds=1.5))
        self._over.set()

    def _change(self, state: RunState) -> None:
        self._state = state
        if self._on_change is not None:
            self._on_change(state)


class FakeKernel:
    """`ends`: how a run ends at once; None: it goes on until the test ends it."""

    def __init__(self, ends: Literal["ok", "error"] | None = "ok") -> None:
        self.ends = ends
        self.runs: list[FakeRun] = []
        self.calls: list[FunctionCall] = []
        self.began = asyncio.Event()
        self.cells = {"aaaa1111": "x = 1", "bbbb2222": "print(x)"}

    def state(self) -> str:
        return "idle"

    def list_variables(self, pattern: str | None = None, limit: int = 50) -> str:
        return f"df: DataFrame 3 by 2 ({pattern}, {limit})"

    async def inspect_variable(self, name: str, depth: int = 1, rows: int = 10) -> Inspection:
        if name == "odd":
            return Inspection("its repr is the user's code", needs_execution="odd")
        return Inspection(f"{name} is a frame", found=name == "df")

    def start_run(self, code: str, *, purpose: str = "", on_change: OnChange | None = None) -> FakeRun:
        return self._begun(RunState(self._id(), "running", 0.0, code=code, purpose=purpose), on_change)

    def start_call(self, call: FunctionCall, *, on_change: OnChange | None = None) -> FakeRun:
        self.calls.append(call)
        state = RunState(self._id(), "running", 0.0, function=call.name, arguments=call.shown)
        return self._begun(state, on_change)

    async def run_cells(
        self,
        cells: Sequence[str],
        *,
        expected: Mapping[str, str] | None = None,
        on_change: OnChange | None = None,
    ) -> FakeRun:
        if expected is not None and any(self.cells[it] != expected[it] for it in cells):
            return self._begun(RunState(self._id(), "refused", 0.0, notes=("A cell changed.",)), on_change)
        ran = tuple(CellRun(it, "ok", 1, (Stream("stdout", "1\n"),), self.cells[it]) for it in cells)
        return self._begun(RunState(self._id(), "running", 0.0, cells=ran), on_change)

    async def cell_sources(self, cells: Sequence[str]) -> tuple[tuple[str, str], ...]:
        found = [next((id for id in self.cells if id.startswith(name)), None) for name in cells]
        if None in found:
            raise UnknownCell("The notebook has no such cell.")
        return tuple((id, self.cells[id]) for id in found if id is not None)

    async def read_notebook(self, cells: Sequence[str] | None = None, outputs: bool = False) -> str:
        return "\n".join(self.cells)

    async def read_output(self, ref: str, index: int | None = None, offset: int = 0) -> tuple[Block, ...]:
        return (Text(f"output {index} of {ref} from {offset}"),)

    def run(self, id: str) -> FakeRun | None:
        return next((it for it in self.runs if it.id == id), None)

    def interrupt_all(self) -> None:
        for run in self.runs:
            run.interrupt()

    def _id(self) -> str:
        return f"run-{len(self.runs) + 1}"

    def _begun(self, state: RunState, on_change: OnChange | None) -> FakeRun:
        run = FakeRun(state, on_change)
        self.runs.append(run)
        self.began.set()
        if state.is_over:
            run.end(state.status)
        elif self.ends is not None:
            run.put_out(Stream("stdout", "hello\n"))
            run.end(self.ends)
        return run
