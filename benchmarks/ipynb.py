"""The cost of reading and merging a notebook, as ratios to `json.loads` of the same file.

Measures a notebook with 50 MB of images and one with 2,000 cells, and how the cost of the latter grows with
4,000 and 8,000 cells. Run: `python -m benchmarks.ipynb`.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

from acp_notebook.core.ipynb import as_agent_sees, drastic_reason, merge, operations

RUNS = 5
"""The best run counts (the least disturbed)."""

WHOLE_AIM = 3
"""Read, merge and write, as a ratio to `json.loads` plus `json.dumps(…, indent=1)`."""

EDITED = 20
"""Cells that the agent changes, spread over the notebook."""

LINEAR = 1.3
"""The tolerance for linear growth: caches and other work of the machine."""

IMAGE = "iVBORw0KGgoAAAANSUhEUg" * 45_455
"""1 MB."""


def _cell(number: int, outputs: list[Any]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": number,
        "id": f"cell-{number}",
        "metadata": {"tags": ["t"]},
        "outputs": outputs,
        "source": [f"x{line} = {number}\n" for line in range(20)],
    }


def _file(cells: list[Any]) -> bytes:
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1).encode()


def images(count: int = 50) -> bytes:
    figure = {"output_type": "display_data", "data": {"image/png": IMAGE}, "metadata": {}}
    return _file([_cell(number, [figure]) for number in range(count)])


def cells(count: int = 2_000) -> bytes:
    printed = {"output_type": "stream", "name": "stdout", "text": ["line\n"] * 20}
    return _file([_cell(number, [printed]) for number in range(count)])


def cpu(function: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    began = time.process_time()
    function()
    return time.process_time() - began


def best(*functions: Callable[[], object]) -> list[float]:
    """CPU seconds of the best run of each; they run in turns, so that other work affects all of them."""
    rounds = [[cpu(function) for function in functions] for _ in range(RUNS)]
    return [min(costs) for costs in zip(*rounds, strict=True)]


def measured(data: bytes) -> dict[str, float]:
    """CPU seconds of each step for this file."""
    view = as_agent_sees(data)
    wrote = json.loads(view.text)
    for number, cell in enumerate(wrote["cells"]):
        if number % 10 == 0:
            cell["source"] = ["changed\n"]
    wrote["cells"].insert(1, _cell(-1, []) | {"id": "new"})
    written = json.dumps(wrote, indent=1)
    merged = merge(view, written, data)
    steps: dict[str, Callable[[], object]] = {
        "json.loads": lambda: json.loads(data),
        "read": lambda: as_agent_sees(data),
        "merge": lambda: merge(view, written, data),
        "operations": lambda: (operations(merged.comparison), drastic_reason(merged.comparison)),
    }
    return dict(zip(steps, best(*steps.values()), strict=True))


def rows() -> list[tuple[str, float, float, float]]:
    """The measured step, our seconds, the peer's, and the ratio."""
    table = []
    for what, data in (("50 MB of images", images()), ("2,000 cells", cells())):
        costs = measured(data)
        peer = costs.pop("json.loads")
        table += [(f"{step}, {what}", cost, peer, cost / peer) for step, cost in costs.items()]
    return table


def whole_rows() -> list[tuple[str, float, str, float, float | None]]:
    """Read, merge and write as one, against `json.loads` plus `json.dumps` of the same file.

    Once in the form that notebooks have (`indent=1`, Python's slow encoder), and once without line breaks.
    """
    table: list[tuple[str, float, str, float, float | None]] = []
    for what, data in (("50 MB of images", images()), ("2,000 cells", cells())):
        ours, indented, plain = whole(data)
        row = f"read, merge and write, {what}"
        table.append((row, ours, "json, indent=1:", indented, WHOLE_AIM))
        table.append((row, ours, "json, plain:", plain, None))
    return table


def whole(data: bytes) -> tuple[float, float, float]:
    """CPU seconds of ours after edits of some cells, and of the peers."""
    wrote = json.loads(as_agent_sees(data).text)
    for cell in wrote["cells"][:: max(1, len(wrote["cells"]) // EDITED)]:
        cell["source"] = ["changed\n"]
    written = json.dumps(wrote, indent=1)
    ours, indented, plain = best(
        lambda: merge(as_agent_sees(data), written, data),
        lambda: json.dumps(json.loads(data), indent=1),
        lambda: json.dumps(json.loads(data)),
    )
    return ours, indented, plain


def growth() -> list[tuple[str, float, float, float]]:
    """The cost per cell among 4,000 and 8,000 cells, as a ratio to that among 2,000.

    Without the cyclic garbage collector, whose cost grows with everything in the process; with it, even
    `json.loads` is not linear.
    """
    gc.collect()
    gc.disable()
    try:
        costs = {count: measured(cells(count)) for count in (2_000, 4_000, 8_000)}
    finally:
        gc.enable()
    base = {step: cost / 2_000 for step, cost in costs.pop(2_000).items()}
    return [
        (f"{step}, a cell among {count:,} to 2,000", cost / count, base[step], cost / count / base[step])
        for count, found in costs.items()
        for step, cost in found.items()
    ]


if __name__ == "__main__":
    for what, ours, peer, ratio in rows():
        print(f"{what:<44} {ours * 1e3:>9.1f} ms {peer * 1e3:>9.1f} ms {ratio:>8.2f}")
    for what, ours, peer, ratio in growth():
        verdict = "" if what.startswith("json.loads") else f"aim ≤ {LINEAR:g}"
        print(f"{what:<44} {ours * 1e6:>9.1f} µs {peer * 1e6:>9.1f} µs {ratio:>8.2f}  {verdict}")
