"""Compose the notebook: prompts, answers and the code that ran, with the cells that it depends on.

Only what ran is run again. Code that failed keeps its error and does not stop "Run All"; code that was
stopped, that asked for input or that uses an agent is shown as text.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..escaping import Escaper
from ..export import to_markdown
from ..export.bounds import shortened
from ..export.markdown import code_span, labelled
from ..export.markdown_safety import confined, fenced
from ..records import Audio, Image, Json, KernelRun, RunError, RunOutput
from ..snapshot import Changes, Item, Message, TerminalRun, ToolCall, TurnStart
from .agent_use import AgentUse, Code
from .cells import RAISES, Cells, call_of
from .names import Names, Transform, parsed
from .timeline import HistoryCell, Step, needed

TEXT_CHARS = 20_000
"""Characters of a prompt or an answer: the notebook is about the code."""

NAME_CHARS = 200
MAX_NAMED = 10
"""Files and commands of a turn that are named."""

REFUSED = "Refused"
"""The error of code that asked for input, or tried to end the kernel."""

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

INTRODUCTION = (
    "The code that the agent ran in the kernel, in its order, with the cells of yours that it depends on. "
    "It runs from top to bottom in a new kernel."
)
NOTHING = "The agent ran no code in the kernel."
MISSING = "# Define these names first: the code below reads them, and no cell is known to have bound them."
STOPPED = "This code was stopped before it ended. It is shown, not run:"
ASKED = "This code asked for input or tried to end the kernel. It is shown, not run:"
USES_AGENT = "This code uses an agent. It is shown, not run:"
CUT = "# Lines that use an agent are left out."


class _Piece(Struct, frozen=True):
    """Code that the agent had the kernel run."""

    source: str
    status: str
    outputs: tuple[RunOutput, ...]
    purpose: str | None
    before: float
    """The execution count of the last cell that had begun before; infinite if it is not known."""
    numbered: int | None = None
    """Its own execution count, if it is a cell of the notebook."""


class _Entry(Struct, frozen=True):
    """A step of the timeline with what is written about it."""

    step: Step
    code: Code
    by: HistoryCell | _Piece
    instead: str | None = None
    """Why it is shown as text."""


def to_notebook(
    items: Sequence[Item],
    transform: Transform,
    *,
    title: str,
    cwd: str | None = None,
    history: Sequence[HistoryCell] = (),
    turn: str | None = None,
) -> dict[str, Json]:
    """The notebook, as nbformat 4.5 has it in memory. `turn`: the key of the only turn to write about."""
    return _Writer(items, transform, history, turn, cwd).write(title)


class _Writer:
    def __init__(
        self,
        items: Sequence[Item],
        transform: Transform,
        history: Sequence[HistoryCell],
        turn: str | None,
        cwd: str | None,
    ) -> None:
        self._items = [it for it in items if turn in (None, it.turn)]
        self._cwd = cwd
        self._escaper = Escaper(cwd)
        self._at: dict[tuple[str, int], int] = {}
        """The positions of the pieces of a tool call, by its key and their number."""
        self._entries = self._timeline(items, transform, history, turn)
        found = needed([it.step for it in self._entries])
        self._needed, self._missing = found.steps, found.missing
        self._written = 0
        """The position up to which the entries are written."""
        self._cells = Cells()

    def _timeline(
        self, items: Sequence[Item], transform: Transform, history: Sequence[HistoryCell], turn: str | None
    ) -> list[_Entry]:
        use = AgentUse(transform)
        calls = [it for it in items if isinstance(it, ToolCall)]
        awaited = _async_functions(history, transform)
        pieces = [(it, number, piece) for it in calls for number, piece in enumerate(_pieces(it, awaited))]
        ran = {(piece.numbered, piece.source.rstrip("\n")) for _, _, piece in pieces}
        cells = sorted((it for it in history if (it.number, it.source) not in ran), key=lambda it: it.number)
        found: list[_Entry] = []
        for call, number, piece in pieces:
            while cells and cells[0].number <= piece.before:
                found.append(_of_cell(cells.pop(0), use))
            self._at[call.key, number] = len(found)
            found.append(_of_piece(piece, use, wanted=turn in (None, call.turn)))
        return found

    def write(self, title: str) -> dict[str, Json]:
        self._cells.markdown(f"# {title}\n\n{INTRODUCTION if self._at else NOTHING}")
        if self._missing:
            names = "\n".join(f"# {name}" for name in self._missing)
            self._cells.code(f"{MISSING}\n{names}")
        for key in dict.fromkeys(it.turn for it in self._items):
            self._turn([it for it in self._items if it.turn == key])
        return {"cells": self._cells.made, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}

    def _turn(self, items: Sequence[Item]) -> None:
        first = [self._at[it.key, 0] for it in items if isinstance(it, ToolCall) and (it.key, 0) in self._at]
        if first:
            self._write_before(min(first))
        for item in items:
            match item:
                case TurnStart():
                    words = tuple(it for it in item.prompt if not isinstance(it, Image | Audio))
                    self._say(replace(item, prompt=words))
                case Message(role="agent"):
                    self._say(item)
                case ToolCall():
                    number = 0
                    while (at := self._at.get((item.key, number))) is not None:
                        self._write_before(at)
                        self._write(self._entries[at])
                        self._written = at + 1
                        number += 1
        self._cells.markdown(_not_repeated(items, self._named))

    def _say(self, item: Item) -> None:
        text = to_markdown([item], cwd=self._cwd).strip("\n")
        if len(text) > TEXT_CHARS:
            text = confined(shortened(text, TEXT_CHARS))  # the cut may have opened a code span
        self._cells.markdown(text)

    def _named(self, text: str) -> str:
        return code_span(shortened(self._escaper.line(text), NAME_CHARS))

    def _write_before(self, position: int) -> None:
        """Write what the entry at this position depends on, as far as it is not written yet."""
        found = [self._entries[at] for at in range(self._written, position) if at in self._needed]
        self._written = max(self._written, position)
        numbers = [f"[{it.by.number}]" for it in found if isinstance(it.by, HistoryCell)]
        if numbers:
            self._cells.markdown(f"*Your cells that the code below depends on: {', '.join(numbers)}.*")
        elif found:
            self._cells.markdown("*Earlier code of the agent that the code below depends on.*")
        for entry in found:
            self._write(entry)

    def _write(self, entry: _Entry) -> None:
        by, code = entry.by, entry.code
        purpose = by.purpose if isinstance(by, _Piece) else None
        if purpose:
            self._cells.markdown(labelled("", self._escaper.line(purpose)))
        if entry.instead is not None:
            self._cells.markdown(f"{entry.instead}\n\n{fenced(by.source, 'python')}")
            return
        source = f"{CUT}\n{code.source}" if code.left_out else code.source
        outputs = by.outputs if isinstance(by, _Piece) else ()
        self._cells.code(source, outputs, tags=[RAISES] if entry.step.failed else [])


def _runs(call: ToolCall) -> Iterator[KernelRun]:
    return (it for it in call.content if isinstance(it, KernelRun))


def _async_functions(history: Sequence[HistoryCell], transform: Transform) -> set[str]:
    """The functions of the user's cells that must be awaited."""
    found: set[str] = set()
    for cell in history:
        for node in parsed(transform(cell.source)):
            if isinstance(node, ast.AsyncFunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.FunctionDef):
                found.discard(node.name)
    return found


def _pieces(call: ToolCall, awaited: Collection[str]) -> Iterator[_Piece]:
    """The code of a tool call that began to run; not what another agent was asked.

    `awaited`: the functions that must be awaited.
    """
    for run in (it for it in _runs(call) if it.session is None):
        before = _before(run)
        if not run.cells:
            source = run.code if run.function is None else call_of(run, awaited=run.function in awaited)
            if run.status in ("ok", "error", "interrupted"):
                yield _Piece(source, run.status, run.outputs, run.purpose, before)
        for cell in run.cells:
            if cell.status in ("ok", "error", "interrupted"):
                count = cell.execution_count
                yield _Piece(cell.source, cell.status, cell.outputs, run.purpose, before, count)


def _before(run: KernelRun) -> float:
    counts = [it.execution_count for it in run.cells if it.execution_count is not None]
    if run.after is not None:
        return run.after
    return min(counts) - 1 if counts else math.inf


def _of_cell(cell: HistoryCell, use: AgentUse) -> _Entry:
    code = use.without_agents(cell.source)
    return _Entry(Step(code.names, failed=cell.failed), code, cell)


def _of_piece(piece: _Piece, use: AgentUse, *, wanted: bool) -> _Entry:
    code = use.without_agents(piece.source)
    instead = _why_not_run(piece, code)
    names = code.names if instead is None else Names()
    return _Entry(Step(names, wanted, piece.status == "error"), code, piece, instead)


def _why_not_run(piece: _Piece, code: Code) -> str | None:
    if code.left_out:
        return USES_AGENT
    if piece.status == "interrupted":
        return STOPPED
    refused = any(isinstance(it, RunError) and it.name == REFUSED for it in piece.outputs)
    return ASKED if refused else None


def _not_repeated(items: Sequence[Item], quote: Callable[[str], str]) -> str:
    """What else the agent did in the turn, which the notebook does not repeat."""
    files = [it.path for item in items if isinstance(item, Changes) for it in item.files]
    commands = [it.command for it in items if isinstance(it, TerminalRun)]
    calls = [run for it in items if isinstance(it, ToolCall) for run in _runs(it)]
    asked = [it.session.agent for it in calls if it.session is not None]
    lines = []
    for what, names in (("changed files", files), ("ran commands", commands), ("asked", asked)):
        if names:
            more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
            lines.append(f"the agent {what}: {', '.join(map(quote, names[:MAX_NAMED]))}{more}")
    return f"*Not repeated here: {'; '.join(lines)}.*" if lines else ""
