"""What the kernel offers to an agent: the records of runs and outputs, and the interface `KernelTools`.

Knows no agent, no MCP and no permission. `notebook.kernel_tools` implements the interface; the server of the
tools asks for permission first and then calls it. Everything here is called on the loop thread.

`notebook.kernel_tools.make(post, on_a_thread, documents, hide)` creates an implementation;
`results.run_blocks(state, seen)` formats a run as the blocks of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Literal, Protocol

from msgspec import Struct

from ..records import AskedSession, Image, Json, Text

Status = Literal["ok", "error", "running", "interrupted", "busy", "refused"]
"""The status of a run. "busy": nothing ran, the user's own code has the main thread. "refused": nothing ran,
`notes` say why (no kernel, no such cell). "running" includes runs that wait for an earlier one."""

Block = Text | Image
"""A part of a tool's result."""


class Stream(Struct, frozen=True):
    """Text on stdout or stderr; of a long text, only the head and the tail are kept."""

    name: Literal["stdout", "stderr"]
    head: str
    tail: str = ""
    left_out: int = 0
    """How many characters are missing between head and tail."""
    type: ClassVar[str] = "stream"

    @property
    def text(self) -> str:
        if not self.left_out:
            return self.head + self.tail
        return f"{self.head}\n… {self.left_out:,} characters left out …\n{self.tail}"


class Display(Struct, frozen=True):
    """A displayed object, or the value of the last line (`is_result`)."""

    data: Mapping[str, Json]
    """The mime bundle, as a notebook file has it: text, and binary types in base64. Large parts are
    dropped."""
    metadata: Mapping[str, Json]
    text: str
    """The object as text, for readers that cannot show `data`."""
    image: Image | None = None
    """PNG or JPEG with sides of at most 1,568 pixels."""
    is_result: bool = False
    dropped: tuple[str, ...] = ()
    """Types that were too large to keep."""
    type: ClassVar[str] = "display"


class Failure(Struct, frozen=True):
    """The error that ended the code."""

    name: str
    message: str
    traceback: str
    """Without colours; the last 12 frames."""
    ansi: str = ""
    """The same, with ANSI colours."""
    type: ClassVar[str] = "error"


Output = Stream | Display | Failure


class CellRun(Struct, frozen=True):
    """One cell of `run_cells`."""

    id: str
    status: Literal["ok", "error", "running", "interrupted", "waiting", "skipped"]
    """"skipped": an earlier cell failed, or the run was stopped."""
    execution_count: int | None = None
    outputs: tuple[Output, ...] = ()
    source: str = ""


class RunState(Struct, frozen=True):
    """The state of a run at one time; `Run.state` is the current one."""

    id: str
    status: Status
    seconds: float
    """Since the code started to run; 0 before that."""
    outputs: tuple[Output, ...] = ()
    """An output that did not change is the same object as before."""
    cells: tuple[CellRun, ...] = ()
    """For `run_cells`, each cell with its outputs; `outputs` is empty then."""
    notes: tuple[str, ...] = ()
    """What the agent must know beyond the outputs, in whole sentences."""
    code: str = ""
    purpose: str = ""
    function: str | None = None
    """The function of the user's that was called, instead of code."""
    arguments: tuple[tuple[str, str], ...] = ()
    """Its arguments: name and JSON text."""
    progress: float | None = None
    """What the function reported last, from 0 to 1."""
    progress_text: str | None = None
    session: AskedSession | None = None
    """The session that answers, if the function is another session."""
    after: int | None = None
    """The execution count of the user's last cell that had begun before; None if it is not known."""

    @property
    def is_over(self) -> bool:
        return self.status != "running"


class Run(Protocol):
    """Code that was passed to the kernel."""

    @property
    def id(self) -> str: ...

    @property
    def state(self) -> RunState: ...

    async def wait(self, seconds: float) -> RunState:
        """Wait until the run is over, or this long; return its state. Cancelling does not stop the run."""

    def interrupt(self) -> None:
        """Stop this run only; the turn continues. Returns immediately; does nothing if the run is over.

        A run that has not started never will. One that ignores the interrupt stays "running", and after
        `Timeouts.run_ignored` its notes say so; later runs wait for it.
        """

    @property
    def ignores_interrupt(self) -> bool:
        """Whether it was interrupted `Timeouts.run_ignored` ago and is still running."""


Where = Literal["main", "thread", "loop"]
"""Where a function runs: on the main thread like a cell, on a thread of its own, or (a coroutine function of
this package that never blocks) on the loop thread. There it takes `progress`, a `CallProgress`."""


class CallProgress(Protocol):
    """What a call on the loop thread tells about itself while it runs."""

    def report(self, fraction: float | None = None, text: str | None = None) -> None:
        """How far it has come: from 0 to 1, and a few words."""

    def answered_by(self, session: AskedSession) -> None:
        """Which session answers, and in which turn."""


class CallFailed(Exception):
    """A call failed for a reason that needs no traceback: the message is all that the agent gets."""


class FunctionCall(Struct, frozen=True):
    """A call of a function, with the arguments that it gets."""

    name: str
    function: Callable[..., Any]
    """The function; what it returns is awaited if it can be."""
    positional: tuple[Any, ...]
    named: Mapping[str, Any]
    shown: tuple[tuple[str, str], ...]
    """The arguments as the user sees them: name and JSON text."""
    where: Where = "main"
    reports: bool = False
    """It takes `report`, the function to report its progress with."""
    called_by: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered around the call, on the thread that runs it."""


class Inspection(Struct, frozen=True):
    """A description of a variable, made without running the user's code."""

    text: str
    image: Image | None = None
    needs_execution: str | None = None
    """Code that would show more, but runs the user's code: an execute action. `text` says why."""
    found: bool = True

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Text(self.text),) if self.image is None else (Text(self.text), self.image)


class UnknownCell(Exception):
    """The notebook has no such cell; the message lists its cells."""


class NoNotebook(Exception):
    """Which notebook this is cannot be found out; the message says what to do."""


OnChange = Callable[[RunState], None]
"""Called on the loop thread when a run has changed, at most `CHANGES_A_SECOND` times a second, and once when
it is over."""

CHANGES_A_SECOND = 10

RUNS_KEPT = 50
"""Runs kept per session: for `wait`, `read_output`, and the card."""

READ_CHARS = 16_000
"""Characters of a result: the most that every agent accepts without moving the text to a file."""


class KernelTools(Protocol):
    """Gives the tools of one session access to the kernel of this process."""

    def state(self) -> str:
        """One line: `idle`, `busy 12 s with the user's cell [7]`, `running run-3 since 4 s`."""

    def list_variables(self, pattern: str | None = None, limit: int = 50) -> str:
        """Name, type, shape or length, and size. Does not need the main thread or run the user's code."""

    async def inspect_variable(self, name: str, depth: int = 1, rows: int = 10) -> Inspection:
        """Describe a variable without running the user's code; see `Inspection.needs_execution`."""

    def start_run(self, code: str, *, purpose: str = "", on_change: OnChange | None = None) -> Run:
        """Run code like one of the user's cells, without a number. Returns immediately; the run may already
        be over (busy, refused)."""

    async def run_cells(
        self,
        cells: Sequence[str],
        *,
        expected: Mapping[str, str] | None = None,
        on_change: OnChange | None = None,
    ) -> Run:
        """Run these cells of the notebook, in this order, until one fails; raises UnknownCell, NoNotebook.

        Returns when the run has started. `expected`: sources by id; if one differs now, the run is "refused".
        A cell is named by its id, the start of its id, or `[n]`.
        """

    def start_call(self, call: FunctionCall, *, on_change: OnChange | None = None) -> Run:
        """Call a function. On the main thread, everything is as with `start_run`; elsewhere it never waits
        for other runs, and an interrupt cancels a coroutine, or ends a function at its next report."""

    async def cell_sources(self, cells: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """The id and source of each of these cells, for the question; raises UnknownCell, NoNotebook.

        Pass them to `run_cells` as `expected`.
        """

    async def read_notebook(self, cells: Sequence[str] | None = None, outputs: bool = False) -> str:
        """The outline of the notebook, or the whole sources of `cells`. Raises UnknownCell, NoNotebook."""

    async def read_output(self, ref: str, index: int | None = None, offset: int = 0) -> tuple[Block, ...]:
        """The outputs of a cell or a run, or one of them from this character on. Raises UnknownCell."""

    def run(self, id: str) -> Run | None:
        """A run of this session; the last `RUNS_KEPT` are kept."""

    def interrupt_all(self) -> None:
        """Stop every run of this session: on cancel, at the turn's end, at a limit, or if the agent dies."""
