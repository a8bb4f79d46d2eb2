"""The table of a fan-out as plain data: a row for each run, the progress of all, and a comparison of two.

The page and `frame()` show these records; nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from ..changes import FileChange
from ..records import Json, Record, written

RunState = Literal[
    "queued", "preparing", "running", "scoring", "done", "failed", "cancelled", "lost", "skipped"
]
"""queued: waits for its turn; preparing: its copy of the folder is made and the agent is started; scoring:
the turn is over; lost: the worker died; skipped: a budget was used up, or `stop_when` was true."""

STATES: tuple[RunState, ...] = get_args(RunState)

FINAL = frozenset({"done", "failed", "cancelled", "lost", "skipped"})
"""A run in one of these states never changes its state again."""

ACTIVE = frozenset({"preparing", "running", "scoring"})


class Row(Record, frozen=True, kw_only=True):
    """One run as the table shows it. None: not known yet, or not reported by the agent."""

    index: int
    prompt: str
    """The first line of the prompt, or the name that the user gave it."""
    agent: str
    attempt: int
    """From 1 on."""
    state: RunState
    fields: Mapping[str, Json] = written({})
    """The values of the columns of `prompts`, if it was a table."""
    since: float | None = None
    """When it left the queue, in seconds since 1970: the page counts on from there."""
    seconds: float | None = None
    """How long the run took, or has taken so far; without the time in the queue."""
    cost: float | None = None
    currency: str | None = None
    tool_calls: int | None = None
    files: int | None = None
    added: int | None = None
    removed: int | None = None
    """Lines of all changed files."""
    score: float | None = None
    score_text: str | None = None
    """The score in words: "12 passed, 1 failed"."""
    doing: str | None = None
    """What the agent is doing: its newest tool call, or the end of its text."""
    text: str | None = None
    """The beginning of the answer."""
    error: str | None = None
    """Why the run failed, was lost, cancelled or skipped."""
    host: str | None = None
    """The machine that ran it, if it is another one."""
    applied: bool = False
    """`run.apply()` has brought its changes here."""

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


class Progress(Record, frozen=True, kw_only=True):
    """How far all runs are."""

    total: int
    counts: Mapping[str, int]
    """The number of runs in each state that occurs."""
    seconds: float
    """Since the start, or until the end."""
    left: float | None = None
    """An estimate of the seconds that remain; None before the first run has ended."""
    costs: Mapping[str, float] = written({})
    """What the runs have cost, by currency."""
    unpriced: int = 0
    """How many runs have ended without a reported cost."""
    stopped: str | None = None
    """Why no more runs are started: cancelled, a budget, or `stop_when`."""
    notices: tuple[str, ...] = written(())
    """What the user should know, in order: the rights of agents' tools, a rate limit, workers that cannot."""

    @property
    def ended(self) -> int:
        return sum(count for state, count in self.counts.items() if state in FINAL)

    @property
    def is_over(self) -> bool:
        return self.ended == self.total


class Side(Record, frozen=True, kw_only=True):
    """One run of a comparison: its row, its whole answer, and its changed files with hunks."""

    row: Row
    text: str
    files: tuple[FileChange, ...] = written(())
    patch: str = ""


class Comparison(Record, frozen=True, kw_only=True):
    """Two runs side by side."""

    left: Side
    right: Side
    paths: tuple[str, ...] = written(())
    """Every file that either of them changed, in order."""
    same: tuple[str, ...] = written(())
    """Those that both left with the same content."""

    def _repr_html_(self) -> str:
        from ..export.runs_html import comparison_html

        return comparison_html(self)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        from ..export.runs_html import comparison_text

        printer.text(comparison_text(self))


def estimate(ended: Sequence[float], running: Sequence[float], queued: int, at_once: int) -> float | None:
    """An estimate of the seconds until all runs have ended. None: none has ended yet.

    Takes the seconds of runs that have ended and of those that are running. One that has taken longer than
    the average is expected to end now.
    """
    if not running and not queued:
        return 0.0
    if not ended:
        return None
    average = sum(ended) / len(ended)
    work = queued * average + sum(max(0.0, average - it) for it in running)
    return work / max(1, min(at_once, queued + len(running)))
