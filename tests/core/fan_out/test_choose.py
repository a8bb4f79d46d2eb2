"""The best run, the estimate and the summary."""

from __future__ import annotations

from typing import Any

from acp_notebook.core.fan_out.choose import best_of, summary
from acp_notebook.core.fan_out.rows import Progress, Row, estimate


def row(index: int, **fields: Any) -> Row:
    given = {"state": "done", "prompt": "p", "agent": "a", "attempt": 1, "files": 1, **fields}
    return Row(index=index, **given)


def test_the_best_has_the_highest_score_then_the_lowest_cost() -> None:
    rows = [row(0, score=1.0, cost=2.0), row(1, score=1.0, cost=1.0), row(2, score=0.5, cost=0.1)]
    assert best_of(rows) == 1
    assert best_of([*rows, row(3, score=2.0, state="failed"), row(4, score=float("nan"))]) == 1


def test_without_scores_one_that_changed_something_and_was_cheap() -> None:
    assert best_of([row(0, files=0, cost=0.1), row(1, cost=2.0), row(2, cost=1.0), row(3)]) == 2
    assert best_of([row(0, seconds=5.0), row(1, seconds=3.0)]) == 1
    assert best_of([row(0, state="failed")]) is None


def test_a_run_without_a_score_is_not_the_best_of_scored_ones() -> None:
    assert best_of([row(0, cost=0.0), row(1, score=-1.0)]) == 1


def test_the_estimate() -> None:
    assert estimate([], [], 0, 4) == 0.0
    assert estimate([], [1.0], 3, 4) is None
    assert estimate([10.0, 20.0], [5.0, 100.0], 2, 2) == (2 * 15 + 10) / 2


def test_the_summary_says_what_it_cost() -> None:
    progress = Progress(
        total=3, counts={"done": 2, "failed": 1}, seconds=90.0, left=0.0, costs={"USD": 0.5}, unpriced=1
    )
    assert summary(progress) == (
        "3 runs: 2 done, 1 failed; 2 min; cost 0.5 USD (1 of them did not report a cost)"
    )
    going = Progress(total=2, counts={"running": 1, "done": 1}, seconds=1.0, left=3.0)
    assert summary(going) == "2 runs: 1 running, 1 done; 1.0 s; about 3.0 s left"
