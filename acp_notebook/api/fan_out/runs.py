"""Runs: all runs of a fan-out as a table that grows, with the best, a comparison, and a way to stop."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, overload

from ...core.fan_out.choose import best_of, summary
from ...core.fan_out.rows import Comparison, Progress, Row, Side
from ...core.fan_out.table import to_html
from ...core.tables import text_table
from ...errors import Timeout, UsageError
from ...frontend.runs_output import display_runs, present_runs
from ...notebook import kernel
from .board import Board, OnChange
from .run import Run

HEAD = ("#", "prompt", "agent", "attempt", "state", "seconds", "cost", "+", "-", "score", "note")

FRAME_TYPES = {
    **dict.fromkeys(("seconds", "cost", "score"), "float64"),
    **dict.fromkeys(("tool_calls", "files", "added", "removed"), "Int64"),
}
"""Numbers, also if no run has one yet; counts can be missing."""

MAX_ROWS = 100
"""How many rows are displayed as text; the object has all of them."""


class Runs(Sequence[Run]):
    """The runs of a fan-out, in order. They go on in the background: `wait()` or `await` them.

    An interrupt (the stop button) while a cell waits cancels all of them; the table stays.
    """

    def __init__(self, board: Board, base: str) -> None:
        self._board = board
        self._runs = [Run(board, index, base) for index in range(len(board.entries))]
        self._shown_by: str | None = None
        """The request of the cell that shows the table."""

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        return self._runs[index]

    # ---- reading ------------------------------------------------------------------------------------

    def rows(self, indexes: Iterable[int] | None = None) -> tuple[Row, ...]:
        """What the table shows: a record for each run, or for these, as they are now."""
        return self._board.rows(indexes)

    @property
    def progress(self) -> Progress:
        """How many runs are in which state, the time, an estimate of what is left, and the cost."""
        return self._board.progress()

    def on_change(self, callback: OnChange) -> Callable[[], None]:
        """Call the function with the indexes of the rows that changed, on the background thread, where it
        must not wait. Returns a function that ends this."""
        return self._board.on_change(callback)

    @property
    def summary(self) -> str:
        """One sentence: how many runs came to what, in what time, at what cost."""
        return summary(self.progress)

    @property
    def failed(self) -> list[Run]:
        """The runs that failed or were lost, cancelled or skipped. `acp.fan_out(runs.failed, …)` does their
        prompts again, with the same agents."""
        return [it for it in self if it.done and it.state != "done"]

    def frame(self) -> Any:
        """A pandas data frame with a row for each run, fields of the prompts included."""
        import pandas as pd  # type: ignore[import-untyped]

        rows = self.rows()
        own = [it for it in Row.__struct_fields__ if it not in ("index", "fields", "since", "doing")]
        table = [{name: getattr(row, name) for name in own} | _free(row.fields, own) for row in rows]
        frame = pd.DataFrame(table, index=pd.Index([it.index for it in rows], name="run"))
        return frame.astype(FRAME_TYPES)

    def best(self) -> Run:
        """The run with the highest score; without scores, one that is done; of equals, the cheapest, then
        the fastest. Raises acp.UsageError if none is done."""
        found = best_of(self.rows())
        if found is None:
            raise UsageError(f"no run is done yet, so none is the best: {self.summary}")
        return self._runs[found]

    def compare(self, left: int | Run, right: int | Run, /) -> Comparison:
        """Two runs side by side: their rows, answers and changed files, as data that a notebook displays."""
        runs = [self._run(it) for it in (left, right)]
        sides = [_side(it) for it in runs]
        one, other = ({it.path: it for it in run.files} for run in runs)
        paths = sorted({*one, *other})
        same = [it for it in paths if it in one and it in other and one[it].after == other[it].after]
        return Comparison(left=sides[0], right=sides[1], paths=tuple(paths), same=tuple(same))

    def _run(self, run: int | Run) -> Run:
        if isinstance(run, Run):
            return run
        try:
            return self._runs[run]
        except (IndexError, TypeError):
            raise UsageError(f"there is no run {run!r}: they are 0 to {len(self) - 1}") from None

    # ---- waiting and stopping -----------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether every run has ended."""
        return self._board.over.done()

    def wait(self, timeout: float | None = None) -> Runs:
        """Wait until every run has ended. Raises acp.Timeout after `timeout` seconds; the runs go on.

        In a notebook, the table is live below the cell. An interrupt cancels the runs.
        """
        finish = present_runs(self)
        try:
            kernel.wait(self._board.over, timeout, on_interrupt=self.cancel)
        except TimeoutError:
            raise Timeout(f"the runs are not over after {timeout:g} s: {self.summary}") from None
        finally:
            finish()
        return self

    def cancel(self) -> None:
        """Stop all runs that have not ended, and start no more. Returns at once."""
        self._board.cancel()

    def __await__(self) -> Generator[Any, None, Runs]:
        return self._wait_async().__await__()

    async def _wait_async(self) -> Runs:
        finish = present_runs(self)
        try:
            await kernel.wait_async(self._board.over, on_interrupt=self.cancel)
        finally:
            finish()
        return self

    # ---- display ------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        rows, more = self._shown()
        return "\n".join([text_table(HEAD, rows), *more, self.summary])

    def _repr_html_(self) -> str:
        return to_html(self.rows())

    def _ipython_display_(self) -> None:
        display_runs(self)

    def _shown(self) -> tuple[list[tuple[str, ...]], list[str]]:
        more = len(self) - MAX_ROWS
        rows = [_cells(it) for it in self.rows(range(min(len(self), MAX_ROWS)))]
        return rows, [f"… {more} more: runs.frame() has all"] if more > 0 else []


def _free(fields: Any, taken: Sequence[str]) -> dict[str, Any]:
    """The fields of a prompt as columns; one with the name of another column gets a suffix."""
    return {f"{name}_field" if name in taken else name: it for name, it in fields.items()}


def _side(run: Run) -> Side:
    return Side(row=run.row, text=run.text, files=run.changes, patch=run.patch)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        str(row.index),
        row.prompt,
        row.agent,
        str(row.attempt),
        row.state,
        "" if row.seconds is None else f"{row.seconds:.1f}",
        "" if row.cost is None else f"{row.cost:.4g} {row.currency or ''}".rstrip(),
        str(row.added or ""),
        str(row.removed or ""),
        "" if row.score is None else f"{row.score:g}",
        row.error or row.score_text or row.doing or "",
    )
