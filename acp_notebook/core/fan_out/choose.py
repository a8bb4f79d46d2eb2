"""The best run, and a sentence about all of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .rows import Progress, Row


def best_of(rows: Sequence[Row]) -> int | None:
    """The index of the best run that is done: by score, else by its changes; of equals, the cheapest."""
    done = [it for it in rows if it.state == "done"]
    if any(it.score is not None for it in done):
        done = [it for it in done if it.score is not None and not math.isnan(it.score)]
    return min(done, key=_rank).index if done else None


def _rank(row: Row) -> tuple[float, bool, float, float, int]:
    """Smaller is better. A run that reports no cost comes after those that do."""
    cost = math.inf if row.cost is None else row.cost
    changed_nothing = row.score is None and not row.files
    return (-(row.score or 0.0), changed_nothing, cost, row.seconds or 0.0, row.index)


def summary(progress: Progress) -> str:
    """How many runs came to what, in what time, at what cost."""
    counts = ", ".join(f"{count} {state}" for state, count in progress.counts.items())
    parts = [f"{progress.total} run{'s' * (progress.total != 1)}: {counts}", duration(progress.seconds)]
    if not progress.is_over and progress.left is not None:
        parts.append(f"about {duration(progress.left)} left")
    parts.append(costs(progress))
    if progress.stopped:
        parts.append(f"stopped: {progress.stopped}")
    return "; ".join(filter(None, parts))


def costs(progress: Progress) -> str:
    known = " + ".join(f"{amount:.4g} {currency}".rstrip() for currency, amount in progress.costs.items())
    if not known:
        return "cost not reported" if progress.unpriced else ""
    missing = f" ({progress.unpriced} of them did not report a cost)" if progress.unpriced else ""
    return f"cost {known}{missing}"


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"
